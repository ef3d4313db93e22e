"""Delete saved runs by age, number and label.

Without --delete, it only lists what it would delete. The newest generation of a label, which comparisons use, is kept
unless --keep is 0.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Sequence

from pytest_devperf.cli.arguments import add_device, add_format, add_store
from pytest_devperf.cli.find import store_at
from pytest_devperf.cli.output import columns, echo, echo_json
from pytest_devperf.english import counted
from pytest_devperf.errors import UsageError
from pytest_devperf.report.table import Column, lay_out
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.prune import Unneeded, Which, delete, find_unneeded
from pytest_devperf.untrusted import parse_number, parse_whole

EXAMPLES = (
    "devperf prune --keep 50",
    "devperf prune --older-than 90 --label nightly --delete",
    "devperf prune --keep 0 --label experiment --delete",
)

MOST_DAYS = 36_500
"""Largest age: a hundred years."""

_TABLE = (
    Column(heading="device"),
    Column(heading="label"),
    Column(heading="run"),
    Column(heading="taken at"),
    Column(heading="generation"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what to delete."""
    parser.add_argument("--keep", metavar="N", type=_count, help="keep the N newest runs of each label of each device")
    parser.add_argument("--older-than", metavar="DAYS", type=_days, help="only runs that are older than DAYS")
    parser.add_argument("--label", metavar="LABEL", action="append", default=[], help="only this label; repeatable")
    add_device(parser)
    parser.add_argument("--delete", action="store_true", help="delete them, instead of listing them")
    add_format(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the runs, or delete them."""
    store = store_at(arguments.store)
    if arguments.keep is None and arguments.older_than is None:
        raise UsageError("nothing is chosen", "add --keep N or --older-than DAYS")
    if arguments.keep == 0 and not arguments.label:
        raise UsageError("--keep 0 would delete every baseline", "name labels with --label")
    if not isinstance(store, FolderStore):
        raise UsageError(f"{store} is not a folder", "delete old runs there by its own rules, or prune a copy")
    which = Which(
        labels=arguments.label,
        device=arguments.device or "",
        keep=arguments.keep,
        before=None if arguments.older_than is None else _days_ago(arguments.older_than),
    )
    unneeded = find_unneeded(store, which)
    if arguments.delete:
        delete(store, unneeded)
    if arguments.format == "json":
        echo_json({"deleted": arguments.delete, "runs": [_plain(each, store) for each in unneeded]})
    else:
        echo(_text(unneeded, deleted=arguments.delete))
    return 0


def _text(unneeded: Sequence[Unneeded], *, deleted: bool) -> str:
    rows = [
        (
            each.head.device.fingerprint,
            each.head.label or "",
            each.head.id,
            each.head.taken_at,
            each.head.generation or "",
        )
        for each in unneeded
    ]
    count = counted(len(unneeded), "run")
    if not unneeded:
        return "no run is unneeded"
    end = f"{count} deleted" if deleted else f"{count} would be deleted: add --delete"
    return "\n".join((*lay_out(_TABLE, rows, columns()), "", end))


def _plain(each: Unneeded, store: FolderStore) -> dict[str, object]:
    head = each.head
    return {
        "device": head.device.fingerprint,
        "label": head.label,
        "run": head.id,
        "taken_at": head.taken_at,
        "generation": head.generation,
        "file": store.where(each.place),
    }


def _days_ago(days: float) -> str:
    then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def _count(text: str) -> int:
    count = parse_whole(text)
    if count is None or count < 0:
        raise argparse.ArgumentTypeError("must be a whole number of at least 0")
    return count


def _days(text: str) -> float:
    days = parse_number(text)
    if days is None or not 0 <= days <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"must be a number of days, from 0 to {MOST_DAYS}")
    return days
