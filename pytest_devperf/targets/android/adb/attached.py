"""The phones attached to this machine, and the choice among them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pytest_devperf.errors import UsageError
from pytest_devperf.targets.android.adb.client import demand_server, number_of

SERIAL_VARIABLE = "ANDROID_SERIAL"
"""Selects one of several phones. Source: AOSP, packages/modules/adb/docs/user/adb.1.md."""

READY = "device"
"""State of a phone that can be used (AOSP: packages/modules/adb/docs/user/adb.1.md, `get-state`)."""

STATES = {
    "unauthorized": "has not authorised this computer: unlock it and accept the dialog on its screen",
    "authorizing": "is being authorised: unlock it, accept the dialog on its screen, and run again",
    "offline": "is offline: unplug it and plug it in again, or restart it",
    "no": "may not be opened by this user: add a udev rule for it (package android-sdk-platform-tools-common) "
    "and plug it in again",
    "recovery": "is in recovery: restart it",
    "sideload": "is in sideload: restart it",
    "bootloader": "is in its bootloader: restart it",
    "connecting": "is connecting: wait a moment and run again",
}
"""The next step for a phone in another state; `no` is the beginning of `no permissions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """One line of `adb devices -l`."""

    serial: str
    """Serial number; never stored, only shown if one of several phones has to be chosen."""
    state: str
    transport_id: int | None = None
    """Number of the connection: changes with every reconnect, and is the fastest way to address the phone."""
    model: str | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be used."""
        return self.state == READY

    @property
    def emulator(self) -> bool:
        """Whether it is an emulator, according to adb's list."""
        model = (self.model or "").lower()
        return self.serial.startswith("emulator-") or model.startswith(("sdk_", "android_sdk_built"))

    @property
    def trouble(self) -> str:
        """Why it cannot be used, and the next step."""
        name = self.model.replace("_", " ") if self.model else f"the phone android:{self.serial}"
        return f"{name} {STATES.get(self.state, f'is in state {self.state!r}: see `adb devices`')}"

    @property
    def words(self) -> str:
        """Model and serial number, for a list to choose from."""
        name = (self.model or "phone").replace("_", " ")
        return f"{name} (android:{self.serial})" if self.ready else f"{name} (android:{self.serial}, {self.state})"


def list_attached(client: Any) -> tuple[Attached, ...]:  # noqa: ANN401 - adbutils has no types
    """List the attached phones, whatever their state.

    Raises:
        UsageError: adb is missing, or its server does not answer.
    """
    import adbutils

    try:
        demand_server(client)
        infos = client.list(extended=True)
    except (adbutils.AdbError, OSError, EOFError, ValueError) as error:
        raise UsageError(
            f"the adb server does not list its phones ({error})", "check that `adb devices` works, then run again"
        ) from error
    return tuple(
        Attached(
            serial=info.serial,
            state=info.state,
            transport_id=number_of(info.tags.get("transport_id")),
            model=info.tags.get("model"),
        )
        for info in infos
    )


def serial_of_environment() -> str | None:
    """Read the serial number from adb's own variable, as `adb` does; None if it is not set."""
    return os.environ.get(SERIAL_VARIABLE) or None


def choose(attached: tuple[Attached, ...], serial: str | None) -> Attached | None:
    """Choose the phone for a serial number.

    Args:
        attached: The attached phones.
        serial: Serial number; None: that in `ANDROID_SERIAL`, otherwise the only phone that can be used, never an
            emulator.

    Returns:
        The phone, or None if no serial number is given and no phone can be used.

    Raises:
        UsageError: The phone with this number is missing or cannot be used, or there are several phones.
    """
    serial = serial or serial_of_environment()
    if serial is not None:
        return find_named(attached, serial)
    ready = [phone for phone in attached if phone.ready and not phone.emulator]
    if len(ready) > 1:
        raise UsageError(
            f"{len(ready)} phones are attached: {', '.join(phone.words for phone in ready)}",
            "choose one with --devperf-target=android:SERIAL",
        )
    return ready[0] if ready else None


def demand(attached: tuple[Attached, ...]) -> Attached:
    """Choose the only attached phone; if that is impossible, raise the reason.

    Raises:
        UsageError: There is no phone, it cannot be used, or there are several.
    """
    chosen = choose(attached, None)
    if chosen is not None:
        return chosen
    emulators = [phone for phone in attached if phone.ready]
    if len(emulators) == 1:
        return emulators[0]
    if emulators:
        raise UsageError(
            f"{len(emulators)} emulators run: {', '.join(phone.words for phone in emulators)}",
            "choose one with --devperf-target=android:SERIAL",
        )
    if attached:
        raise UsageError("; ".join(phone.trouble for phone in attached))
    raise UsageError(
        "no phone is attached",
        "plug one in, allow USB debugging in its developer options, and check that `adb devices` lists it",
    )


def find_named(attached: tuple[Attached, ...], serial: str) -> Attached:
    """Find the phone with a serial number.

    Raises:
        UsageError: The phone is missing or cannot be used.
    """
    for phone in attached:
        if phone.serial != serial:
            continue
        if phone.ready:
            return phone
        raise UsageError(phone.trouble)
    there = ", ".join(phone.words for phone in attached) or "none"
    by = f" ({SERIAL_VARIABLE} names it)" if serial == serial_of_environment() else ""
    raise UsageError(f"no phone android:{serial} is attached{by}", f"those attached: {there}")


def troubles(attached: tuple[Attached, ...]) -> list[str]:
    """Describe for each phone that cannot be used why, and the next step."""
    return [phone.trouble for phone in attached if not phone.ready and not phone.emulator]
