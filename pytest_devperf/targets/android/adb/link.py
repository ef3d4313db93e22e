"""The link to one phone: scripts, streams and files over adb; its errors name the phone."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pytest_devperf.errors import CaseError, UsageError
from pytest_devperf.targets.android.adb.attached import Attached, list_attached
from pytest_devperf.targets.android.adb.client import demand_server, make_client
from pytest_devperf.targets.android.adb.loss import STATES_OF_LOSS, lost
from pytest_devperf.targets.android.adb.stream import CompletedScript, Stream, Timeout
from pytest_devperf.targets.android.adb.sync import TransferRefused, fetch_file, send_file
from pytest_devperf.untrusted import parse_whole

SCRIPT_S = 30.0
"""Longest silence of a script: the slowest command, a `dumpsys` on a busy phone, takes 10 s until its own timeout."""

SYNC_S = 30.0
"""Longest wait for one block of a file: a phone that takes half a minute for 64 KiB is gone."""

BACK_S = 6.0
"""Longest wait for a phone to reconnect: USB enumeration takes 2 to 4 s."""

LONGEST_BYTES = 0xFFFF
"""adb counts a request's bytes in four hexadecimal digits (AOSP: packages/modules/adb/SERVICES.TXT)."""

Result = TypeVar("Result")


class Link:
    """One phone behind an adb server."""

    def __init__(self, *, serial: str, server_port: int | None = None, name: str = "the phone") -> None:
        self.name = name
        """Name for error messages: the model, never the serial number."""
        self._serial = serial
        self._client = make_client(server_port)
        self._phone: Attached | None = None
        self._features: frozenset[str] | None = None

    def script(self, text: str, *, doing: str, timeout_s: float = SCRIPT_S, again: bool = True) -> CompletedScript:
        """Run a script until it ends.

        Args:
            text: Shell text; every name and path in it is quoted.
            doing: Purpose, for error messages: `reading the sensors`.
            timeout_s: Longest silence, in wall-clock time. The duration is not limited: a busy phone, or a simulated
                one on a busy machine, takes long for a script of many commands, but prints as it goes on.
            again: Whether the script may run a second time if the link dropped.

        Raises:
            TargetError: The phone is gone, or the answer was cut off.
        """
        return self._trying(lambda: self._script(text, timeout_s), doing=doing, again=again)

    def stream(self, text: str, *, doing: str) -> Stream:
        """Start a command whose input and output stay open.

        Raises:
            TargetError: The phone is gone.
        """
        return self._trying(lambda: self._open(text), doing=doing, again=True)

    def push(self, local: Path, remote: str, *, mode: int, doing: str) -> None:
        """Send a file; the caller verifies it.

        Raises:
            TargetError: The phone is gone.
            TransferRefused: The phone refused the file.
        """
        self._trying(lambda: self._push(local, remote, mode), doing=doing, again=True)

    def pull(self, remote: str, *, doing: str) -> bytes:
        """Fetch a file.

        Raises:
            TargetError: The file is missing, or the phone is gone.
        """
        return self._trying(lambda: self._pull(remote), doing=doing, again=True)

    @property
    def serial(self) -> str:
        """Serial number, for commands on this machine that must reach the same phone; never stored."""
        return self._serial

    @property
    def server_port(self) -> int:
        """Port of the adb server."""
        return int(self._client.port)

    def reverse(self, port: int) -> None:
        """Forward a port of the phone to the same port on this machine's loopback interface, until the link ends.

        Raises:
            TargetError: The phone refused, or is gone.
        """
        self._order(f"reverse:forward:tcp:{port};tcp:{port}", doing="forwarding a port to this machine")

    def end_reverse(self, port: int) -> None:
        """Remove the forwarding of a port.

        Raises:
            TargetError: The port is not forwarded, or the phone is gone.
        """
        self._order(f"reverse:killforward:tcp:{port}", doing="removing a port forwarding", again=False)

    @property
    def packets(self) -> bool:
        """Whether the phone supports the shell protocol (Android 7 and later)."""
        return "shell_v2" in self._known_features()

    # -- below -----------------------------------------------------------------------------------

    def _order(self, order: str, *, doing: str, again: bool = True) -> None:
        """Send a request to the phone's daemon, and check its answer."""

        def give() -> None:
            connection = self._service(order, SCRIPT_S)
            try:
                connection.check_okay()
            finally:
                connection.close()

        self._trying(give, doing=doing, again=again)

    def _script(self, text: str, timeout_s: float) -> CompletedScript:
        marker = f"@@END-{secrets.token_hex(4)}"
        stream = self._open(f"{{ {text}\n}}; echo {marker} $?")
        try:
            output = stream.read_unless_silent(timeout_s)
        finally:
            stream.close()
        body, found, tail = output.rpartition(marker)
        code = parse_whole(tail.strip())
        if not found or code is None:
            raise EOFError("the answer was cut off")
        return CompletedScript(output=body, error_output=stream.error_output, returncode=code)

    def _open(self, text: str) -> Stream:
        packets = self.packets
        service = "shell,v2,raw" if packets else "exec"
        return Stream(self._service(f"{service}:{text}", SCRIPT_S), packets=packets)

    def _service(self, name: str, timeout_s: float) -> Any:  # noqa: ANN401 - adbutils has no types
        """Open a service of the phone.

        Not by adbutils' own device class, which leaves its socket open if the phone is gone.
        """
        if len(name.encode()) > LONGEST_BYTES:
            raise CaseError(
                f"a command line of {len(name.encode())} bytes exceeds adb's limit ({LONGEST_BYTES})",
                "put long arguments into a file and push it",
            )
        phone = self._attached()
        demand_server(self._client)
        connection = self._client.make_connection(timeout=timeout_s)
        try:
            # By number, an answer takes half as long as by serial number: the device list is not searched.
            words = f"transport-id:{phone.transport_id}" if phone.transport_id else f"transport:{phone.serial}"
            connection.send_command(f"host:{words}")
            connection.check_okay()
            connection.send_command(name)
            connection.check_okay()
        except BaseException:
            connection.close()
            raise
        return connection

    def _push(self, local: Path, remote: str, mode: int) -> None:
        connection = self._service("sync:", SYNC_S)
        try:
            send_file(connection.conn, local, remote, mode)
        finally:
            connection.close()

    def _pull(self, remote: str) -> bytes:
        connection = self._service("sync:", SYNC_S)
        try:
            return fetch_file(connection.conn, remote)
        finally:
            connection.close()

    def _attached(self) -> Attached:
        if self._phone is None:
            try:
                attached = list_attached(self._client)
            except UsageError as error:  # the server answered a moment ago: the phone is lost, the call was right
                raise ConnectionError(error.what) from error
            found = next((phone for phone in attached if phone.serial == self._serial), None)
            if found is None or not found.ready:
                raise EOFError("it is not attached any more" if found is None else f"it is {found.state}")
            self._phone = found
        return self._phone

    def _known_features(self) -> frozenset[str]:
        if self._features is None:
            phone = self._attached()
            words = f"host-transport-id:{phone.transport_id}" if phone.transport_id else f"host-serial:{phone.serial}"
            with self._client.make_connection(timeout=SCRIPT_S) as connection:
                connection.send_command(f"{words}:features")
                connection.check_okay()
                self._features = frozenset(str(connection.read_string_block()).split(","))
        return self._features

    def _trying(self, act: Callable[[], Result], *, doing: str, again: bool) -> Result:
        """Call a function; after a drop reconnect once, and call it again if that is harmless."""
        import adbutils

        losses = (adbutils.AdbError, *STATES_OF_LOSS)
        try:
            return act()
        except TransferRefused:
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
        """Reconnect a dropped link; False if the phone stays away."""
        self._phone = None
        until_s = time.monotonic() + BACK_S
        while time.monotonic() < until_s:
            with contextlib.suppress(Exception):  # an attempt may fail in any way; only the time limit counts
                self._call_back()
                self._attached()
                return True
            time.sleep(0.3)  # real time: a cable does not follow a test's clock
        return False

    def _call_back(self) -> None:
        """Request a network connection again; a cable reconnects by itself."""
        host, colon, port = self._serial.rpartition(":")
        if not (colon and host and port.isdecimal()):
            return
        there = next((phone for phone in list_attached(self._client) if phone.serial == self._serial), None)
        if there is None or not there.ready:
            self._client.disconnect(self._serial)
            self._client.connect(self._serial, timeout=3.0)
