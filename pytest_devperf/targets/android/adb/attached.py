"""Which phones are attached to this machine, and which one is meant."""

from __future__ import annotations

import glob
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_devperf.errors import UsageError
from pytest_devperf.untrusted import parse_whole

SERIAL_VARIABLE = "ANDROID_SERIAL"
"""Names the phone among several. Source: AOSP, packages/modules/adb/docs/user/adb.1.md."""

DEFAULT_PORT = 5037
"""Port of the adb server (AOSP: packages/modules/adb/adb.h, DEFAULT_ADB_PORT)."""

LARGEST_PORT = 0xFFFF

ADB_INTERFACE = ("ff", "42", "01")
"""USB class, subclass and protocol of an adb interface (AOSP: packages/modules/adb/adb.h)."""

READY = "device"
"""State of a phone that can be used (AOSP: packages/modules/adb/docs/user/adb.1.md, `get-state`)."""

STATES = {
    "unauthorized": "has not authorised this computer: unlock it and accept the question on its screen",
    "authorizing": "is just being authorised: unlock it, accept the question on its screen, and run again",
    "offline": "is offline: unplug it and plug it in again, or restart it",
    "no": "may not be opened by this user: add a udev rule for it (package android-sdk-platform-tools-common) "
    "and plug it in again",
    "recovery": "is in recovery: restart it",
    "sideload": "is in sideload: restart it",
    "bootloader": "is in its bootloader: restart it",
    "connecting": "is just connecting: wait a moment and run again",
}
"""What to do about a phone in another state; `no` is what is left of `no permissions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """One line of `adb devices -l`."""

    serial: str
    """What adb calls it; never stored, shown only where one of several has to be chosen."""
    state: str
    transport_id: int | None = None
    """Number of the connection: changes with every reconnect, and is the fastest way to it."""
    model: str | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be used."""
        return self.state == READY

    @property
    def emulator(self) -> bool:
        """Whether adb's own list shows it for an emulator."""
        model = (self.model or "").lower()
        return self.serial.startswith("emulator-") or model.startswith(("sdk_", "android_sdk_built"))

    @property
    def words(self) -> str:
        """Model and serial, for a list to choose from."""
        name = (self.model or "phone").replace("_", " ")
        return f"{name} (android:{self.serial})" if self.ready else f"{name} (android:{self.serial}, {self.state})"


def make_client(server_port: int | None) -> Any:  # noqa: ANN401 - adbutils has no types
    """Make a client of the adb server; nothing is started or connected by it."""
    import adbutils

    return adbutils.AdbClient(port=server_port) if server_port else adbutils.AdbClient()


def demand_server(client: Any) -> None:  # noqa: ANN401 - adbutils has no types
    """See that a server with a port of its own runs: where it does not, adbutils would start one on the usual port.

    Raises:
        ConnectionError: It does not.
    """
    if client.port != _default_port() and not _server_runs(client.port):
        raise ConnectionError(f"no adb server answers on port {client.port}")


def list_attached(client: Any) -> tuple[Attached, ...]:  # noqa: ANN401 - adbutils has no types
    """List what is attached, in whatever state.

    Raises:
        UsageError: There is no adb, or its server does not answer.
    """
    import adbutils

    try:
        demand_server(client)
        infos = client.list(extended=True)
    except (adbutils.AdbError, OSError, EOFError, ValueError) as error:
        raise UsageError(
            f"the adb server cannot be asked for phones ({error})", "see that `adb devices` works, then run again"
        ) from error
    return tuple(
        Attached(
            serial=info.serial,
            state=info.state,
            transport_id=_number(info.tags.get("transport_id")),
            model=info.tags.get("model"),
        )
        for info in infos
    )


def may_find_phones(server_port: int | None) -> bool:
    """Tell whether asking adb can find anything, without starting its server (which takes 3 s).

    A running server is asked; without one, only Linux says cheaply that no phone is plugged in.
    """
    if server_port is not None or _server_runs(_default_port()):
        return True
    interfaces = glob.glob("/sys/bus/usb/devices/*/bInterfaceClass")  # noqa: PTH207 - one pattern over a whole tree
    if not interfaces:
        return False
    return any(_usb_interface(Path(path).parent) == ADB_INTERFACE for path in interfaces)


def serial_of_environment() -> str | None:
    """Read which phone adb's own variable names, as `adb` does itself; None if it names none."""
    return os.environ.get(SERIAL_VARIABLE) or None


def choose(attached: tuple[Attached, ...], serial: str | None) -> Attached | None:
    """Choose the phone that is meant.

    Args:
        attached: What is attached.
        serial: The one that was asked for; None: the one that `ANDROID_SERIAL` names, else whichever there is, never
            an emulator.

    Returns:
        It, or None if nothing was asked for and nothing usable is there.

    Raises:
        UsageError: The one that was asked for is not there or not usable, or there are several.
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
    """Choose the one phone that is there, and say what stands in the way where there is none.

    Raises:
        UsageError: There is none, it cannot be used, or there are several.
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
        raise UsageError("; ".join(_trouble(phone) for phone in attached))
    raise UsageError(
        "no phone is attached",
        "plug one in, allow USB debugging in its developer options, and see that `adb devices` lists it",
    )


def find_named(attached: tuple[Attached, ...], serial: str) -> Attached:
    """Find the phone of a serial number.

    Raises:
        UsageError: It is not there or cannot be used.
    """
    for phone in attached:
        if phone.serial != serial:
            continue
        if phone.ready:
            return phone
        raise UsageError(_trouble(phone))
    there = ", ".join(phone.words for phone in attached) or "none"
    by = f" ({SERIAL_VARIABLE} names it)" if serial == serial_of_environment() else ""
    raise UsageError(f"no phone android:{serial} is attached{by}", f"those attached: {there}")


def troubles(attached: tuple[Attached, ...]) -> list[str]:
    """Say of every phone that cannot be used why, and what to do about it."""
    return [_trouble(phone) for phone in attached if not phone.ready and not phone.emulator]


def _trouble(phone: Attached) -> str:
    name = phone.model.replace("_", " ") if phone.model else f"the phone android:{phone.serial}"
    return f"{name} {STATES.get(phone.state, f'is in state {phone.state!r}: see `adb devices`')}"


def _number(text: str | None) -> int | None:
    value = parse_whole(text)
    return value if value is not None and value >= 0 else None


def _default_port() -> int:
    port = _number(os.environ.get("ANDROID_ADB_SERVER_PORT"))
    return port if port is not None and 0 < port <= LARGEST_PORT else DEFAULT_PORT


def _server_runs(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.2):
            return True
    except OSError:
        return False


def _usb_interface(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(
            (folder / f"bInterface{word}").read_text(encoding="ascii").strip()
            for word in ("Class", "SubClass", "Protocol")
        )
    except OSError:
        return ()
