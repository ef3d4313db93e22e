"""Open the phone of a spec as a target."""

from __future__ import annotations

from pytest_devperf.errors import UsageError
from pytest_devperf.targets.android.adb.attached import (
    Attached,
    choose,
    demand,
    find_named,
    list_attached,
    serial_of_environment,
    troubles,
)
from pytest_devperf.targets.android.adb.client import make_client, may_find_phones
from pytest_devperf.targets.android.options import PhoneOptions
from pytest_devperf.targets.android.target import AndroidTarget
from pytest_devperf.targets.protocol import Clock


class NoUsablePhone(UsageError):
    """The reason why `auto` can use no phone: not an error, as it has another device to use."""


def open_target(
    spec: str, *, server_port: int | None = None, clock: Clock | None = None, options: PhoneOptions | None = None
) -> AndroidTarget | None:
    """Open the phone of a spec.

    Args:
        spec: `auto` (any real phone that is attached), `android` (the attached phone), `android:SERIAL`.
        server_port: Port of the adb server; None: the default.
        clock: The session's clock; None: this machine's.
        options: The session's options; None: the defaults.

    Returns:
        None if the spec is for another kind of device, and for `auto` if no phone is attached.

    Raises:
        NoUsablePhone: Phones are attached, or may be, but `auto` can use none of them.
        UsageError: The phone is missing, cannot be used, or there are several.
        TargetError: The phone is gone.
    """
    kind, _, serial = spec.partition(":")
    if kind not in {"auto", "android"} or (kind == "auto" and serial):
        return None
    if kind == "auto":
        phone = _find(server_port)
        if phone is None:
            return None
    else:
        attached = list_attached(make_client(server_port))
        phone = find_named(attached, serial) if serial else demand(attached)
    target = AndroidTarget(serial=phone.serial, server_port=server_port, clock=clock, options=options)
    return None if kind == "auto" and target.emulator else target


def _find(server_port: int | None) -> Attached | None:
    """Find the phone for `auto`; None if none is attached.

    Raises:
        NoUsablePhone: No attached phone can be used.
        UsageError: There are several.
    """
    if not may_find_phones(server_port):
        return None
    try:
        attached = list_attached(make_client(server_port))
        named = choose(attached, None) if serial_of_environment() is not None else None
    except UsageError as error:
        raise NoUsablePhone(error.what, error.next_step) from error
    found = named or choose(attached, None)
    if found is None and (reasons := troubles(attached)):
        raise NoUsablePhone("; ".join(reasons))
    return found
