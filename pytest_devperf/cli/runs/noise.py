"""Show how far saved runs of unchanged code differ from one another, and which tolerance suits.

All runs of the newest generation of LABEL count as unchanged code; pytest --devperf-save LABEL --devperf-append
adds one. Every run is compared with its neighbours in time by the rule of the plugin, both as the saved and as the
new run; the run next to it serves as the confirmation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from pytest_devperf.cli.arguments import add_device, add_format, add_store
from pytest_devperf.cli.find import device_label_summaries, store_at
from pytest_devperf.cli.output import columns, echo, echo_json
from pytest_devperf.compare.history import newest_generation
from pytest_devperf.compare.noise import FEWEST, Noise, noise
from pytest_devperf.compare.policy import Policy
from pytest_devperf.english import counted
from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import Record, Run
from pytest_devperf.report.header import device_line
from pytest_devperf.report.terminal.noise import render

NEWEST_RUNS = 30
"""Runs to compare with each other: 30 runs are 220 pairs of each metric, and conditions change over longer times."""


EXAMPLES = ("devperf noise main",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the label, and the options that select its runs."""
    parser.add_argument("label", metavar="LABEL", help="label whose runs are of unchanged code")
    add_device(parser)
    parser.add_argument("--all", action="store_true", help="runs of every generation, not only of the newest one")
    add_format(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a table for every device, and the line for the ini file."""
    store = store_at(arguments.store)
    sections, plain = [], []
    for label_summary in device_label_summaries(store, arguments.label, arguments.device):
        runs = store.runs(label_summary.device.fingerprint, arguments.label, newest=not arguments.all)
        chosen = list(runs if arguments.all else newest_generation(runs))[:NEWEST_RUNS]
        if len(chosen) >= FEWEST:
            noises = _noises(chosen)
            plain.append(
                {
                    "device": label_summary.device.fingerprint,
                    "runs": [each.id for each in chosen],
                    "cases": {case_id: [asdict(each) for each in held] for case_id, held in noises.items()},
                }
            )
            sections.append(
                "\n".join(
                    (
                        device_line(label_summary.device),
                        _described(chosen),
                        "",
                        render(noises, width=columns()),
                    )
                )
            )
    if not sections:
        raise UsageError(
            f"{arguments.label} has no two runs of one generation on one device",
            "add runs of the same code with pytest --devperf-save LABEL --devperf-append, or pass --all",
        )
    if arguments.format == "json":
        echo_json(plain)
    else:
        echo("\n\n".join(sections))
    return 0


def _noises(runs: Sequence[Run]) -> dict[str, tuple[Noise, ...]]:
    """Summarise the cases, in the order of the newest run, oldest records first."""
    records: dict[str, list[Record]] = {}
    for each in runs:
        for record in each.cases:
            records.setdefault(record.id, []).append(record)
    policy = Policy()
    return {case_id: noise(held[::-1], policy) for case_id, held in records.items()}


def _described(runs: Sequence[Run]) -> str:
    """Describe the number of runs, their time span and the number of commits."""
    times = sorted(each.taken_at for each in runs)
    commits = {each.commit.id for each in runs if each.commit is not None and each.commit.id is not None}
    of = f" of {counted(len(commits), 'commit')}" if len(commits) > 1 else ""
    return f"{counted(len(runs), 'run')}{of}, {times[0]} to {times[-1]}"
