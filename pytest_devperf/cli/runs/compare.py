"""Compare runs with earlier ones.

Several BASE form one baseline. A suspect cannot be measured again here: if the run has no confirmation, its
first measurement decides.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pytest_devperf.cli.arguments import add_format, add_store, add_verbose
from pytest_devperf.cli.find import find_runs, store_at
from pytest_devperf.cli.output import EXIT_FAILED, columns, echo, echo_runs
from pytest_devperf.cli.runs.judging import add_policy, find_baselines, policy_of, with_comparisons
from pytest_devperf.compare.tally import tally
from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import Run
from pytest_devperf.report.report import Report
from pytest_devperf.report.terminal.text import render

EXAMPLES = ("devperf compare main --to run.json", "devperf compare main --to candidate --fail")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the runs, and the options that determine the verdicts."""
    runs = "a label (its newest generation), a run's id, or a file"
    parser.add_argument("base", metavar="BASE", nargs="+", help=runs)
    parser.add_argument(
        "--to", metavar="CANDIDATE", nargs="+", required=True, help="a label (its newest run), a run's id, or a file"
    )
    parser.add_argument("--fail", action="store_true", help="exit 1 if a case regressed or is missing")
    parser.add_argument("--fail-on-incomparable", action="store_true", help="exit 1 if a case is incomparable")
    parser.add_argument("--no-fail-on-missing", action="store_true", help="with --fail: do not fail for missing cases")
    add_policy(parser)
    add_format(parser)
    add_store(parser)
    add_verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the plugin's tables and return its exit code."""
    store, policy = store_at(arguments.store), policy_of(arguments)
    candidates = [each for word in arguments.to for each in find_runs(word, store)]
    baselines = [find_baselines(arguments.base, store, each.device) for each in candidates]
    if not any(baselines):
        raise UsageError(f"{' '.join(arguments.base)} has no case of {_devices(candidates)}", "see devperf list")
    compared = tuple(with_comparisons(each, known, policy) for each, known in zip(candidates, baselines, strict=True))
    comparisons = [case.comparison for each in compared for case in each.cases if case.comparison]
    report = Report(
        runs=compared,
        compared_with=" ".join(arguments.base),
        expected_false_alarms=tally(comparisons, policy).expected_false_alarms,
    )
    if arguments.format == "json":
        echo_runs(compared)
    else:
        echo(render(report, width=columns(), verbosity=arguments.verbose))
    return _code(report, arguments)


def _code(report: Report, arguments: argparse.Namespace) -> int:
    counts = report.counts
    missing = counts.get("missing", 0) and not arguments.no_fail_on_missing
    if report.nothing_compared or (arguments.fail and (counts.get("regressed", 0) or missing)):
        return EXIT_FAILED
    return EXIT_FAILED if arguments.fail_on_incomparable and counts.get("incomparable", 0) else 0


def _devices(runs: Sequence[Run]) -> str:
    return ", ".join(dict.fromkeys(f"{each.device.kind} {each.device.fingerprint}" for each in runs))
