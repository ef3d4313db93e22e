"""The client of the adb server, and whether it may find phones."""

from __future__ import annotations

import glob
import os
import socket
from pathlib import Path
from typing import Any

from pytest_devperf.errors import UsageError
from pytest_devperf.untrusted import parse_whole

DEFAULT_PORT = 5037
"""Port of the adb server (AOSP: packages/modules/adb/adb.h, DEFAULT_ADB_PORT)."""

LARGEST_PORT = 0xFFFF

SERVER_S = 3.0
"""Longest wait for a connection to a server on this machine, as in adbutils. That none runs is known at once; one that
runs on a busy machine may let its callers wait."""

SOCKET_VARIABLE = "ADB_SERVER_SOCKET"
"""Address of the adb server: `tcp:PORT` or `tcp:HOST:PORT`. Source: AOSP, packages/modules/adb/docs/user/adb.1.md."""

LOCAL = frozenset({"", "localhost", "127.0.0.1"})
"""Hosts of an address that is on this machine, also if the port is forwarded to another one."""

ADB_INTERFACE = ("ff", "42", "01")
"""USB class, subclass and protocol of an adb interface (AOSP: packages/modules/adb/adb.h)."""


def make_client(server_port: int | None) -> Any:  # noqa: ANN401 - adbutils has no types
    """Create a client of the adb server; this starts and connects nothing.

    Raises:
        UsageError: adbutils is not installed, or the address of the server cannot be used.
    """
    adbutils = load_adbutils()
    port = server_port or forwarded_port()
    return adbutils.AdbClient(port=port) if port else adbutils.AdbClient()


def forwarded_port() -> int | None:
    """Read the port of the server that adb's own variable names, as `adb` does; None if it is not set.

    Raises:
        UsageError: It names something else than a port of this machine.
    """
    address = os.environ.get(SOCKET_VARIABLE)
    if not address:
        return None
    protocol, _, place = address.partition(":")
    host, _, text = place.rpartition(":")
    port = number_of(text)
    if protocol == "tcp" and host in LOCAL and port is not None and 0 < port <= LARGEST_PORT:
        return port
    raise UsageError(
        f"{SOCKET_VARIABLE}={address} is not a port of this machine",
        f"forward one (ssh -N -L 5038:localhost:5037 HOST) and set {SOCKET_VARIABLE}=tcp:localhost:5038",
    )


def load_adbutils() -> Any:  # noqa: ANN401 - it has no types
    """Import adbutils, which only phones need.

    Raises:
        UsageError: It is not installed.
    """
    try:
        import adbutils
    except ImportError as error:
        raise UsageError(f"phones need the package {error.name}", "pip install 'pytest-devperf[phone]'") from error
    return adbutils


def demand_server(client: Any) -> None:  # noqa: ANN401 - adbutils has no types
    """Check that the server on a custom port runs: otherwise adbutils would start one on the default port.

    Raises:
        ConnectionError: No server runs on that port.
    """
    if client.port != _default_port() and not _server_runs(client.port):
        raise ConnectionError(f"no adb server answers on port {client.port}")


def may_find_phones(server_port: int | None) -> bool:
    """Check whether adb may find a phone, without starting its server (which takes 3 s).

    A running server is asked; without one, only Linux can show cheaply that no phone is plugged in.
    """
    if server_port is not None or forwarded_port() is not None or _server_runs(_default_port()):
        return True
    interfaces = glob.glob("/sys/bus/usb/devices/*/bInterfaceClass")  # noqa: PTH207 - one pattern over a whole tree
    if not interfaces:
        return False
    return any(_usb_interface(Path(path).parent) == ADB_INTERFACE for path in interfaces)


def number_of(text: str | None) -> int | None:
    """Parse a number that is not negative; None for anything else."""
    value = parse_whole(text)
    return value if value is not None and value >= 0 else None


def _default_port() -> int:
    port = number_of(os.environ.get("ANDROID_ADB_SERVER_PORT"))
    return port if port is not None and 0 < port <= LARGEST_PORT else DEFAULT_PORT


def _server_runs(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=SERVER_S):
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
