"""A private, genuine adb server for simulated phones, ended by its process id."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from typing import final

from pytest_devperf.errors import TargetError, UsageError
from pytest_devperf.targets.android.adb.client import load_adbutils

START_S = 60.0
"""Longest wait for the server: it takes 0.1 s, or 3 s if an older adb searches for cables first, and more on a busy
machine."""

ANSWER_S = 60.0
"""Longest wait for one answer: adb takes 10 s to give up connecting to a phone that does not respond, longer on a busy
machine."""

KEEPER = """"$0" "$@" </dev/null & server=$!
read -r _
kill $server
wait $server
case $HOME in */devperf-adb-*) rm -rf "$HOME";; esac
"""
"""Ends the server by its process id and deletes its folder when our end of its stdin is closed, even if this
process was killed."""


def adb_program() -> str:
    """Find adb: `$ADBUTILS_ADB_PATH`, then PATH, then the one packaged with adbutils.

    Raises:
        UsageError: adb is not installed, nor adbutils, which brings one.
    """
    named = os.environ.get("ADBUTILS_ADB_PATH") or shutil.which("adb")
    if named:
        return named
    adbutils = load_adbutils()
    try:
        return str(adbutils.adb_path())
    except RuntimeError:
        raise UsageError("there is no adb on this machine", "install Android's platform-tools, or set PATH") from None


@final
class AdbServer:
    """A server on its own port that searches for no cable, network or emulator.

    A context manager; several simulated phones may share a server.
    """

    def __init__(self) -> None:
        self.port = 0
        self._home = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> AdbServer:
        """Start it and wait until it responds."""
        program = adb_program()
        self._home = tempfile.mkdtemp(prefix="devperf-adb-")
        self.port = _free_port()
        # HOME: its keys; TMPDIR: its log. ADB_USB=0 keeps it away from real phones, and saves the 3 s of the search.
        environment = {
            **os.environ,
            "HOME": self._home,
            "TMPDIR": self._home,
            "ADB_USB": "0",
            "ADB_MDNS": "0",
            "ADB_MDNS_OPENSCREEN": "0",
            "ADB_LOCAL_TRANSPORT_MAX_PORT": "0",
        }
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, program, "-L", f"tcp:localhost:{self.port}", "nodaemon", "server"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C in the terminal must not reach the server: it is ended by __exit__
        )
        try:
            self._wait(program)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_about: object) -> None:
        """End it."""
        self.stop()

    def connect(self, address: str) -> str:
        """Connect to a phone, and return the server's answer."""
        return self.ask(f"host:connect:{address}")

    def disconnect(self, address: str) -> None:
        """Disconnect a phone, if it is still connected."""
        with contextlib.suppress(TargetError, OSError):
            self.ask(f"host:disconnect:{address}")

    def ask(self, service: str) -> str:
        """Send one request to the server.

        Raises:
            TargetError: The server refuses.
        """
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S) as connection:
            connection.sendall(f"{len(service):04x}{service}".encode())
            with connection.makefile("rb") as answers:
                okay = answers.read(4) == b"OKAY"
                text = answers.read(int(answers.read(4) or b"0", 16)).decode("utf-8", "replace")
        if not okay:
            raise TargetError(f"the adb server refused {service}", text.strip() or "see its log")
        return text

    def stop(self) -> None:
        """End it by its process id."""
        if self._process is not None:
            self._process.communicate()  # closes its stdin, and waits
            self._process = None
        shutil.rmtree(self._home, ignore_errors=True)

    def _wait(self, program: str) -> None:
        until_s = time.monotonic() + START_S
        while time.monotonic() < until_s:
            with contextlib.suppress(OSError, ValueError, TargetError):
                self.ask("host:version")
                return
            time.sleep(0.02)
        raise TargetError(f"{program} did not start a server on port {self.port}", "check that it runs: `adb version`")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
