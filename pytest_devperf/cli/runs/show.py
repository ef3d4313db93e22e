"""Show one run: its device and context, its cases, and with -v the stability of each."""

from __future__ import annotations

import argparse

from pytest_devperf.cli.arguments import add_format, add_store, add_verbose
from pytest_devperf.cli.find import find_runs, store_at
from pytest_devperf.cli.output import columns, echo, echo_runs
from pytest_devperf.report.header import header_lines, run_line, settings_line
from pytest_devperf.report.report import Report
from pytest_devperf.report.terminal.text import render

EXAMPLES = ("devperf show main", "devperf show 3f2a -v", "devperf show run.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, the store and the verbosity."""
    parser.add_argument("run", metavar="RUN", help="a label (its newest run on each device), a run's id, or a file")
    add_format(parser)
    add_store(parser)
    add_verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print every run that matches the word."""
    runs = find_runs(arguments.run, store_at(arguments.store))
    if arguments.format == "json":
        echo_runs(runs)
        return 0
    for each in runs:
        report = Report(runs=(each,), target=each.device.kind)
        settings = f"devperf settings: {settings_line(each.settings)}"
        echo("\n".join([run_line(each), *header_lines(report), settings, ""]))
        echo(render(report, width=columns(), verbosity=arguments.verbose) + "\n")
    return 0
