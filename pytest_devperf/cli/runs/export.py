"""Write saved runs in a format for other programs.

RUN is a label (its newest run on each device), a run's id, or a file written by --devperf-json. `benchmark-action` is
the custom format of github-action-benchmark, `bencher` the Bencher Metric Format; both contain the value that verdicts
use.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_devperf.cli.arguments import add_store
from pytest_devperf.cli.find import find_runs, store_at
from pytest_devperf.exchange.exports import EXPORTS
from pytest_devperf.report.terminal.plain import encodable
from pytest_devperf.store.writing import write_file

STDOUT = "-"


EXAMPLES = (
    "devperf export --format csv main -o main.csv",
    "devperf export --format benchmark-action main",
    "devperf export --format bencher run.json | bencher run --adapter json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the runs, the format and the output file."""
    parser.add_argument("run", metavar="RUN", nargs="+", help="a label, a run's id, or a file")
    parser.add_argument("--format", choices=EXPORTS, required=True, help="format of the output")
    parser.add_argument(
        "--better",
        choices=("lower", "higher"),
        default="lower",
        help="benchmark-action: values for which lower (customSmallerIsBetter) or higher (customBiggerIsBetter) is "
        "better (default: lower)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default=STDOUT, help="file to write (default: standard output)"
    )
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the runs."""
    store = store_at(arguments.store)
    runs = [each for word in arguments.run for each in find_runs(word, store)]
    text = EXPORTS[arguments.format](runs, arguments.better)
    if arguments.output == STDOUT:
        sys.stdout.write(encodable(text, sys.stdout.encoding))
    else:
        write_file(Path(arguments.output), text.encode())
    return 0
