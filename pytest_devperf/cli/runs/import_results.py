"""Save the results of another tool as a baseline.

Such a baseline has no anchor, one process start, and inputs that are not known. The caution `imported` refuses
comparisons with it until --devperf-accept=imported accepts it; `devperf history` and `devperf report` show it. The
device is the one that the file describes, or with --here this machine.
"""

from __future__ import annotations

import argparse
import datetime
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.cli.arguments import add_store
from pytest_devperf.cli.find import store_at
from pytest_devperf.cli.output import echo
from pytest_devperf.english import counted
from pytest_devperf.exchange.imports import FORMATS, make_run, parse_import
from pytest_devperf.store.file import read_bytes
from pytest_devperf.store.generation import save_run

if TYPE_CHECKING:
    from pytest_devperf.targets.device import Device

RUN_ID_BYTES = 4
"""Random bytes of a run's id: enough to distinguish the runs of one second."""


EXAMPLES = (
    "devperf import --format pytest-benchmark .benchmarks/Linux-CPython-3.11-64bit/0001_main.json --label old --here",
    "devperf import --format google-benchmark bench.json --label native",
    "hyperfine --export-json=cli.json 'tool run' && devperf import --format hyperfine cli.json --here",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file, its format and the label."""
    parser.add_argument("file", metavar="FILE", nargs="+", type=Path, help="what the tool wrote")
    parser.add_argument("--format", choices=FORMATS, required=True, help="the tool")
    parser.add_argument("--label", metavar="LABEL", default="imported", help="save as LABEL (default: imported)")
    parser.add_argument("--append", action="store_true", help="join the newest generation of LABEL")
    parser.add_argument("--here", action="store_true", help="the results were measured on this machine")
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read every file before the first is saved, then save them, each as one run."""
    store = store_at(arguments.store)
    found = [
        (path, parse_import(arguments.format, read_bytes(path).decode("utf-8", "replace"), str(path)))
        for path in arguments.file
    ]
    for path, imported in found:
        here = _this_machine() if arguments.here else imported.device
        made = make_run(
            imported,
            label=arguments.label,
            device=here,
            taken_at=imported.taken_at or _modified_at(path),
            version=_version(),
            run_id=secrets.token_hex(RUN_ID_BYTES),
        )
        where = save_run(store, made, append=arguments.append or path != found[0][0])
        cases = counted(len(made.cases), "case")
        echo(f"imported {cases} of {arguments.format} as {arguments.label}: {where} (caution imported)")
    return 0


def _this_machine() -> Device:
    from pytest_devperf.targets.host.identity import read_device

    return read_device()


def _modified_at(path: Path) -> str:
    """Return the time at which a file was written: such results contain no other."""
    changed = datetime.datetime.fromtimestamp(path.stat().st_mtime, tz=datetime.timezone.utc)
    return changed.strftime("%Y-%m-%dT%H:%M:%SZ")


def _version() -> str:
    from pytest_devperf import __version__

    return __version__
