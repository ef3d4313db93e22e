"""From what a user calls a phone to the phone as a target."""

from __future__ import annotations

from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.target.android.adb import choose, demand, list_attached, make_client, may_find_phones
from pytest_devperf.target.android.phone import AndroidTarget
from pytest_devperf.target.target import Clock


def open_target(  # noqa: PLR0913 - as AndroidTarget
    spec: str,
    *,
    server_port: int | None = None,
    clock: Clock | None = None,
    identity: str = "unit",
    pin_clocks: str = "off",
    affinity: str | None = None,
    runner: Path | None = None,
    library: Path | None = None,
) -> AndroidTarget | None:
    """Open the phone that a spec means.

    Args:
        spec: `auto` (whichever real phone is attached), `android` (the one that is attached), `android:SERIAL`.
        server_port: Port of the adb server; None: the usual one.
        clock: As for `AndroidTarget`, like all that follow.
        identity: As there.
        pin_clocks: As there.
        affinity: As there.
        runner: As there.
        library: As there.

    Returns:
        None where the spec means no phone, and for `auto` where none is attached.

    Raises:
        UsageError: It is not there, cannot be used, or there are several.
        TargetError: It went away.
    """
    kind, _, serial = spec.partition(":")
    if kind not in {"auto", "android"} or (kind == "auto" and serial):
        return None
    if kind == "auto" and not may_find_phones(server_port):
        return None
    try:
        attached = list_attached(make_client(server_port))
    except UsageError:
        if kind == "auto":
            return None
        raise
    phone = demand(attached) if spec == "android" else choose(attached, serial or None)
    if phone is None:
        return None
    target = AndroidTarget(
        serial=phone.serial,
        server_port=server_port,
        clock=clock,
        identity=identity,
        pin_clocks=pin_clocks,
        affinity=affinity,
        runner=runner,
        library=library,
    )
    return None if kind == "auto" and target.emulator else target
