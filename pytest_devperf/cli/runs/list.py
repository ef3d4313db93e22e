"""List the devices and labels of a store; with -v every run."""

from __future__ import annotations

import argparse
from itertools import groupby

from msgspec import to_builtins

from pytest_devperf.cli.arguments import add_format, add_store, add_verbose
from pytest_devperf.cli.find import store_at
from pytest_devperf.cli.output import columns, echo, echo_json
from pytest_devperf.report.header import commit_line, device_line
from pytest_devperf.report.table import Column, Row, lay_out
from pytest_devperf.store.outlines import read_outlines
from pytest_devperf.store.store import LabelSummary, Store

_LABELS = (Column(heading="label"), Column(heading="runs", number=True), Column(heading="newest"))

_RUNS = (
    Column(heading="label"),
    Column(heading="run"),
    Column(heading="taken at"),
    Column(heading="cases", number=True),
    Column(heading="generation"),
    Column(heading="commit"),
)


EXAMPLES = ("devperf list", "devperf list -v --store ~/runs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the store and the verbosity."""
    add_format(parser)
    add_store(parser)
    add_verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a table for every device."""
    store = store_at(arguments.store)
    label_summaries = store.label_summaries()
    if arguments.format == "json":
        echo_json([_plain(each, store, verbose=arguments.verbose) for each in label_summaries])
        return 0
    if not label_summaries:
        echo(f"{store} is empty: save a run with pytest --devperf-save LABEL")
        return 0
    for device, group in groupby(label_summaries, key=lambda label_summary: label_summary.device):
        echo(device_line(device))
        if arguments.verbose:
            rows = [row for label_summary in group for row in _run_rows(label_summary, store)]
            echo("\n".join(lay_out(_RUNS, rows, columns())) + "\n")
        else:
            rows = [(label_summary.label, str(label_summary.runs), label_summary.newest) for label_summary in group]
            echo("\n".join(lay_out(_LABELS, rows, columns())) + "\n")
    return 0


def _plain(summary: LabelSummary, store: Store, *, verbose: int) -> dict[str, object]:
    """Describe a label, with -v each of its runs."""
    found: dict[str, object] = {
        "device": to_builtins(summary.device),
        "label": summary.label,
        "runs": summary.runs,
        "newest": summary.newest,
    }
    if verbose:
        found["each"] = [
            {
                "run": run.id,
                "taken_at": run.taken_at,
                "generation": run.generation,
                "cases": len(run.cases),
                "commit": to_builtins(run.commit),
            }
            for run in read_outlines(store, summary.device.fingerprint, summary.label)
        ]
    return found


def _run_rows(label_summary: LabelSummary, store: Store) -> list[Row]:
    return [
        (
            label_summary.label if at == 0 else "",
            run.id,
            run.taken_at,
            str(len(run.cases)),
            run.generation or "",
            commit_line(run.commit),
        )
        for at, run in enumerate(read_outlines(store, label_summary.device.fingerprint, label_summary.label))
    ]
