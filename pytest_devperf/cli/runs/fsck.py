"""Examine every file of a store: damaged or misplaced runs, and what saves that were killed left behind.

Nothing is changed: each finding shows the next step. The exit code is 1 if a run is damaged; leftovers harm nothing.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pytest_devperf.cli.arguments import add_format, add_store
from pytest_devperf.cli.find import store_at
from pytest_devperf.cli.output import EXIT_FAILED, echo, echo_json
from pytest_devperf.english import counted
from pytest_devperf.errors import UsageError
from pytest_devperf.store.check import Examined, examine
from pytest_devperf.store.files import FileStore

EXAMPLES = ("devperf fsck", "devperf fsck --store ~/runs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the format and the store."""
    add_format(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each finding, and a summary."""
    store = store_at(arguments.store)
    if not isinstance(store, FileStore):
        raise UsageError(f"{store} is a plugin's store", "devperf fsck examines folders and URLs")
    found = examine(store)
    if arguments.format == "json":
        echo_json(asdict(found))
        return EXIT_FAILED if found.damaged else 0
    for fault in found.faults:
        echo(f"{fault.kind}: {fault.where} {fault.problem}")
    echo(_summary(store, found))
    return EXIT_FAILED if found.damaged else 0


def _summary(store: FileStore, found: Examined) -> str:
    labels, devices = counted(found.labels, "label"), counted(found.devices, "device")
    words = f"{store}: {counted(found.runs, 'sound run')} of {labels} on {devices}"
    kinds = [fault.kind for fault in found.faults]
    others = [
        counted(kinds.count(kind), noun)
        for kind, noun in (("damaged", "damaged file"), ("leftover", "leftover"), ("ignored", "ignored file"))
        if kind in kinds
    ]
    return "; ".join([words, *others])
