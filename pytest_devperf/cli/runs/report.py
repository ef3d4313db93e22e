"""Write saved runs as a report: one HTML file with charts, or Markdown for a comment on a pull request.

RUN is a label (its newest run on each device), a run's id, or a file written by --devperf-json. The report shows the
comparisons in the run, or new ones with --baseline. Without RUN, it shows the newest saved run of each device.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_devperf.cli.arguments import add_store
from pytest_devperf.cli.find import find_runs, newest_runs, store_at
from pytest_devperf.cli.output import echo
from pytest_devperf.cli.runs.judging import add_policy, find_baselines, policy_of, with_comparisons
from pytest_devperf.compare.history import index
from pytest_devperf.compare.tally import tally
from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import Run
from pytest_devperf.report.formats import FORMATS, Baselines, Format, Histories
from pytest_devperf.report.report import Report
from pytest_devperf.store.outlines import past_runs, read_some
from pytest_devperf.store.store import Store
from pytest_devperf.store.writing import write_file

STDOUT = "-"


EXAMPLES = ("devperf report -o report.html", "devperf report candidate --baseline main -o report.md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the runs, their baseline, and the output file."""
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="*",
        help="a label, a run's id, or a file (default: the newest saved run of each device)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help=f"file to write: {', '.join(each.suffixes[0] for each in FORMATS.values())}, or - for standard output",
    )
    parser.add_argument("--format", choices=FORMATS, help="format (default: by the name of FILE)")
    parser.add_argument(
        "--baseline",
        metavar="BASE",
        nargs="+",
        default=[],
        help="compare with a label (its newest generation), a run's id, or a file",
    )
    parser.add_argument("--history", metavar="LABEL", help="HTML: show every case over all runs of this label as well")
    add_policy(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the report; its verdicts do not change the exit code."""
    form = _format_of(arguments.output, arguments.format)
    store = store_at(arguments.store)
    runs = [each for word in arguments.run for each in find_runs(word, store)] or newest_runs(store)
    baselines = _baselines(arguments, store, runs)
    report = _report(arguments, runs, baselines)
    text = form.write(report, baselines, _histories(arguments.history, store, runs))
    if arguments.output == STDOUT:
        echo(text)
    else:
        write_file(Path(arguments.output), text.encode())
    return 0


def _format_of(output: str, named: str | None) -> Format:
    if named is not None:
        return FORMATS[named]
    suffix = Path(output).suffix.lower()
    found = next((each for each in FORMATS.values() if suffix in each.suffixes), None)
    if found is None:
        files = " or ".join(f"FILE{each.suffixes[0]}" for each in FORMATS.values())
        raise UsageError(f"--output={output} names no format", f"write {files}, or add --format {'|'.join(FORMATS)}")
    return found


def _report(arguments: argparse.Namespace, runs: Sequence[Run], baselines: Baselines) -> Report:
    """Compare the runs with a given baseline; without one, keep the comparisons that they contain."""
    if not arguments.baseline:
        compared = any(record.comparison for run in runs for record in run.cases)
        return Report(runs=tuple(runs), compared_with="its baseline" if compared else None)
    policy = policy_of(arguments)
    judged = tuple(with_comparisons(each, baselines.get(each.device.fingerprint, {}), policy) for each in runs)
    comparisons = [case.comparison for each in judged for case in each.cases if case.comparison]
    return Report(
        runs=judged,
        compared_with=" ".join(arguments.baseline),
        expected_false_alarms=tally(comparisons, policy).expected_false_alarms,
    )


def _baselines(arguments: argparse.Namespace, store: Store, runs: Sequence[Run]) -> Baselines:
    """Find the baseline of every case by device: the given one, or that of its comparison.

    Raises:
        UsageError: A given baseline has no case of any device.
    """
    devices = {run.device.fingerprint: run.device for run in runs}
    if not arguments.baseline:
        return {device: index(list(_served(device, store, runs)), device) for device in devices}
    found = {key: find_baselines(arguments.baseline, store, device) for key, device in devices.items()}
    if not any(found.values()):
        raise UsageError(f"{' '.join(arguments.baseline)} has no case of these devices", "see devperf list")
    return found


def _served(device: str, store: Store, runs: Sequence[Run]) -> Iterator[Run]:
    """Find the saved runs that were the baselines of the comparisons in the runs."""
    ids = {
        each
        for run in runs
        if run.device.fingerprint == device
        for record in run.cases
        if record.comparison is not None
        for each in record.comparison.baseline_runs
    }
    if not ids:
        return
    for label_summary in store.label_summaries():
        if label_summary.device.fingerprint == device:
            yield from read_some(store, device, label_summary.label, ids)


def _histories(label: str | None, store: Store, runs: Sequence[Run]) -> Histories:
    """Collect the newest runs of a label, and those of the report, by device."""
    if label is None:
        return {}
    found = past_runs(store, label, runs)
    if not any(len(each) > 1 for each in found.values()):
        raise UsageError(f"--history={label}: {store} has no other run with this label", "see devperf list")
    return found
