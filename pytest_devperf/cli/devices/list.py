"""List the devices that are attached or have saved runs: state, held clocks, leftovers, and the last run.

Nothing is changed on a device. A phone in use by another session is listed with that session as its leftover.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from pytest_devperf.cli.arguments import add_store
from pytest_devperf.cli.find import store_at
from pytest_devperf.cli.output import columns, echo
from pytest_devperf.errors import DevperfError
from pytest_devperf.record.record import DeviceRecord
from pytest_devperf.report.table import Column, lay_out
from pytest_devperf.store.store import LabelSummary

READY = "ready"

_TABLE = (
    Column(heading="device"),
    Column(heading="fingerprint"),
    Column(heading="target"),
    Column(heading="state"),
    Column(heading="clocks"),
    Column(heading="last run"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One device of the inventory."""

    name: str
    fingerprint: str | None
    """None: not known, because the device cannot be asked."""
    target: str | None
    """Value of `--devperf-target` for it; None: it is not attached."""
    state: str
    """`ready`, `not attached`, or why it cannot be used and what to do."""
    pinned: bool | None = None
    """Whether its clocks are held; None: not known."""
    leftover: str | None = None
    """What a session changed on it and has not undone."""
    last_run: str | None = None
    """Time of its newest saved run."""
    last_label: str | None = None


EXAMPLES = ("devperf devices", "devperf devices --format json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the store and the format."""
    add_store(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="(default: text)")


def run(arguments: argparse.Namespace) -> int:
    """Print the inventory."""
    store = store_at(arguments.store)
    listed = _with_runs([_this_machine(), *_phones()], store.label_summaries())
    if arguments.format == "json":
        echo(json.dumps([asdict(each) for each in listed], indent=1))
        return 0
    echo("\n".join(lay_out(_TABLE, [_row(each) for each in listed], columns())))
    for each in listed:
        if each.leftover is not None:
            remedy = f"devperf unpin --target {each.target} undoes it once no session measures there"
            echo(f"{each.name}: {each.leftover}: {remedy}")
    return 0


def _row(listed: Listed) -> tuple[str, ...]:
    clocks = {True: "held", False: "free", None: "-"}[listed.pinned]
    last = f"{listed.last_run} ({listed.last_label})" if listed.last_run is not None else "-"
    return listed.name, listed.fingerprint or "-", listed.target or "-", listed.state, clocks, last


def _this_machine() -> Listed:
    from pytest_devperf.targets.device import HOST
    from pytest_devperf.targets.host.identity import read_device

    device = read_device()
    return Listed(name=device.name, fingerprint=device.fingerprint, target=HOST, state=READY)


def _phones() -> Iterator[Listed]:
    """List the phones that adb knows; none if it is not installed or knows of no server."""
    from pytest_devperf.targets.android.adb.attached import list_attached
    from pytest_devperf.targets.android.adb.client import make_client, may_find_phones

    try:
        attached = list_attached(make_client(None)) if may_find_phones(None) else ()
    except DevperfError as error:
        yield Listed(name="phones", fingerprint=None, target=None, state=str(error))
        return
    for phone in attached:
        name, target = (phone.model or "phone").replace("_", " "), f"android:{phone.serial}"
        if phone.ready:
            yield _phone(phone.serial, name, target)
        else:
            yield Listed(name=name, fingerprint=None, target=target, state=phone.trouble)


def _phone(serial: str, name: str, target: str) -> Listed:
    """Look at a phone without changing it."""
    from pytest_devperf.targets.android.target import AndroidTarget

    try:
        phone = AndroidTarget(serial=serial)
        leftover, pinned = phone.leftover(), phone.holds_clocks()
    except DevperfError as error:
        return Listed(name=name, fingerprint=None, target=target, state=str(error))
    device = phone.device
    return Listed(
        name=device.name,
        fingerprint=device.fingerprint,
        target=target,
        state=READY,
        pinned=pinned,
        leftover=leftover,
    )


def _with_runs(listed: Sequence[Listed], label_summaries: Sequence[LabelSummary]) -> list[Listed]:
    """Add the newest runs, and the devices that have runs and are not attached."""
    newest: dict[str, LabelSummary] = {}
    for each in label_summaries:
        known = newest.get(each.device.fingerprint)
        if known is None or known.newest < each.newest:
            newest[each.device.fingerprint] = each
    here = [_with_run(each, newest) for each in listed]
    fingerprints = {each.fingerprint for each in listed}
    away = [each for fingerprint, each in newest.items() if fingerprint not in fingerprints]
    return [*here, *(_with_run(_away(each.device), newest) for each in away)]


def _with_run(listed: Listed, newest: Mapping[str, LabelSummary]) -> Listed:
    run_of = newest.get(listed.fingerprint or "")
    return listed if run_of is None else replace(listed, last_run=run_of.newest, last_label=run_of.label)


def _away(device: DeviceRecord) -> Listed:
    words = " ".join(word for word in (device.manufacturer, device.model) if word)
    return Listed(
        name=words or device.soc or device.kind, fingerprint=device.fingerprint, target=None, state="not attached"
    )
