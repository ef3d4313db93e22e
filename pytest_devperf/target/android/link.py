"""The link to one phone: scripts, streams and files over adb, with errors that name the phone."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pytest_devperf.errors import TargetError
from pytest_devperf.target.android.adb import list_attached, make_client
from pytest_devperf.target.android.stream import Stream, Timeout, lost
from pytest_devperf.target.android.sync import PushRefused, send_file

SCRIPT_S = 30.0
"""Longest wait for a script: the slowest of them, a `dumpsys` on a busy phone, takes 10 s by its own timeout."""

SYNC_S = 30.0
"""Longest wait for one block of a file: a phone that writes 64 KiB for half a minute is gone."""

BACK_S = 6.0
"""How long a phone may take to come back after a drop: USB enumeration takes 2 to 4 s."""

STATES_OF_LOSS = (OSError, EOFError, ValueError, Timeout)
"""What a dropped link looks like, apart from adbutils' own errors."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A script that ran to its end."""

    output: str
    error_output: str
    returncode: int


class Link:
    """One phone behind an adb server."""

    def __init__(self, *, serial: str, server_port: int | None = None, name: str = "the phone") -> None:
        self.name = name
        """What errors call it: its model, never its serial number."""
        self._serial = serial
        self._client = make_client(server_port)
        self._device: Any = None
        self._features: frozenset[str] | None = None

    def script(self, text: str, *, doing: str, timeout_s: float = SCRIPT_S, again: bool = True) -> Finished:
        """Run a script to its end.

        Args:
            text: Shell text; every name and path in it is quoted.
            doing: What for, as errors say it: `reading the sensors`.
            timeout_s: Longest wait, in wall-clock time.
            again: Whether it may be run a second time after the link dropped.

        Raises:
            TargetError: The phone went away, or the answer was cut off.
        """
        return self._trying(lambda: self._script(text, timeout_s), doing=doing, again=again)

    def stream(self, text: str, *, doing: str) -> Stream:
        """Start a command whose input and output stay open.

        Raises:
            TargetError: The phone went away.
        """
        return self._trying(lambda: self._open(text), doing=doing, again=True)

    def push(self, local: Path, remote: str, *, mode: int, doing: str) -> None:
        """Send a file; the caller verifies it.

        Raises:
            TargetError: The phone went away.
            PushRefused: The phone refused the file.
        """
        self._trying(lambda: self._push(local, remote, mode), doing=doing, again=True)

    def pull(self, remote: str, *, doing: str) -> bytes:
        """Fetch a file.

        Raises:
            TargetError: It is not there, or the phone went away.
        """
        return self._trying(lambda: bytes(self._adb().sync.read_bytes(remote)), doing=doing, again=True)

    @property
    def packets(self) -> bool:
        """Whether the phone speaks the shell protocol (Android 7 and later)."""
        return "shell_v2" in self._known_features()

    # -- below -----------------------------------------------------------------------------------

    def _script(self, text: str, timeout_s: float) -> Finished:
        marker = f"@@END-{secrets.token_hex(4)}"
        stream = self._open(f"{{ {text}\n}}; echo {marker} $?")
        try:
            output = stream.read_all(time.monotonic() + timeout_s)
        finally:
            stream.close()
        body, found, tail = output.rpartition(marker)
        code = tail.strip()
        if not found or not code.isdecimal():
            raise EOFError("the answer was cut off")
        return Finished(output=body, error_output=stream.error_output, returncode=int(code))

    def _open(self, text: str) -> Stream:
        packets = self.packets
        connection = self._adb().open_transport(timeout=SCRIPT_S)
        try:
            connection.send_command(f"{'shell,v2,raw' if packets else 'exec'}:{text}")
            connection.check_okay()
        except BaseException:
            connection.close()
            raise
        return Stream(connection, packets=packets)

    def _push(self, local: Path, remote: str, mode: int) -> None:
        connection = self._adb().open_transport(timeout=SYNC_S)
        try:
            connection.send_command("sync:")
            connection.check_okay()
            send_file(connection.conn, local, remote, mode)
        finally:
            connection.close()

    def _adb(self) -> Any:  # noqa: ANN401 - adbutils has no types
        if self._device is None:
            found = next((phone for phone in list_attached(self._client) if phone.serial == self._serial), None)
            if found is None or not found.ready:
                raise EOFError("it is not attached any more" if found is None else f"it is {found.state}")
            # By number an answer takes half as long as by serial: no look-up of the device list.
            self._device = self._client.device(transport_id=found.transport_id or None, serial=_only(found))
        return self._device

    def _known_features(self) -> frozenset[str]:
        if self._features is None:
            self._features = frozenset(str(self._adb().get_features()).split(","))
        return self._features

    def _trying(self, act: Callable[[], Answer], *, doing: str, again: bool) -> Answer:
        """Do it; after a drop reconnect once, do it once more where that is harmless, and else say so."""
        import adbutils

        losses = (adbutils.AdbError, *STATES_OF_LOSS)
        try:
            return act()
        except PushRefused:
            raise
        except Timeout as error:
            raise lost(self.name, doing, "no answer in time") from error
        except losses as error:
            first = error
        if not again or not self._reconnect():
            raise lost(self.name, doing, first) from first
        try:
            return act()
        except losses as error:
            raise lost(self.name, doing, error) from error

    def _reconnect(self) -> bool:
        """Bring a dropped link back; False where the phone stays away."""
        self._device = None
        until_s = time.monotonic() + BACK_S
        while time.monotonic() < until_s:
            with contextlib.suppress(Exception):  # each attempt may fail in its own way; the time decides
                self._call_back()
                self._adb()
                return True
            time.sleep(0.3)  # real time: a cable does not care for a test's clock
        return False

    def _call_back(self) -> None:
        """Ask for a network connection again; a cable comes back by itself."""
        host, colon, port = self._serial.rpartition(":")
        if not (colon and host and port.isdecimal()):
            return
        there = next((phone for phone in list_attached(self._client) if phone.serial == self._serial), None)
        if there is None or not there.ready:
            self._client.disconnect(self._serial)
            self._client.connect(self._serial, timeout=3.0)


def _only(found: Any) -> str | None:  # noqa: ANN401 - an Attached
    return None if found.transport_id else found.serial


def best_effort() -> contextlib.suppress:
    """Do what is only tidying: a phone that is gone keeps its files until the next start."""
    return contextlib.suppress(TargetError)
