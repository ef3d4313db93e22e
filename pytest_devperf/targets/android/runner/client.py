"""The client of the runner on the phone, which replies to each line with a line of JSON."""

from __future__ import annotations

import time

from pytest_devperf.errors import CaseError, TargetError
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.adb.loss import best_effort, lost
from pytest_devperf.targets.android.adb.stream import Stream, Timeout
from pytest_devperf.targets.android.runner.reply import Failure, RunnerReply, parse_reply
from pytest_devperf.untrusted import parse_whole

ERRORS = "errors.txt"
"""File in the working folder for the runner's error output: to send it would cost the phone's CPU."""

TAIL_BYTES = 2000
"""Size of its end that is shown if the program fails."""

BEGIN_S = 60.0
"""Longest wait for the shell to start the program: a phone under full load has taken seconds."""


class RunnerClient:
    """A runner that was started on the phone.

    Every wait is limited in wall-clock time; a runner that does not reply in time is killed.
    """

    def __init__(self, link: Link, folder: str, command: str, *, name: str) -> None:
        """Start the program.

        Args:
            link: The phone.
            folder: Working folder on the phone.
            command: Shell text that ends with the program; `exec` keeps the shell's process id for it.
            name: Name for error messages.
        """
        self._link = link
        self._folder = folder
        self._name = name
        self._doing = f"running {name}"
        self._stream: Stream = link.stream(
            f"cd {folder} && echo $$ && exec {command} 2>{ERRORS}", doing=f"starting {name}"
        )
        self.pid = self._read_pid()
        self._busy = True

    def ask(self, line: str, *, timeout_s: float) -> RunnerReply:
        """Send one line and wait for its reply.

        Raises:
            CaseError: The runner failed; the error includes its own message.
            TargetError: The phone is gone, or no reply arrived in time.
        """
        self._busy = True
        try:
            self._stream.write(line.encode() + b"\n")
        except OSError as error:
            # A program that has ended may have left a last message.
            return self._last_words(error)
        return self.receive(timeout_s=timeout_s)

    def receive(self, *, timeout_s: float) -> RunnerReply:
        """Wait for a reply.

        Raises:
            CaseError: The runner failed; the error includes its own message.
            TargetError: The phone is gone, or no reply arrived in time.
        """
        until_s = time.monotonic() + timeout_s
        noise = ""
        while True:
            try:
                line = self._stream.read_line(until_s)
            except Timeout:
                self.kill()
                raise TargetError(
                    f"{self._name} did not answer on {self._link.name} within {timeout_s:.0f} s and was ended",
                    "give it less work, or check what slows the phone down",
                ) from None
            except EOFError as error:
                self._busy = False
                raise self._ended(noise, error) from error
            except OSError as error:
                raise lost(self._link.name, self._doing, error) from error
            reply = self._parse(line)
            if reply is None:
                noise = line  # cut off by an error; the error itself follows
                continue
            self._busy = False
            if reply.error is not None:
                raise self._refused(reply.error)
            return reply

    def _parse(self, line: str) -> RunnerReply | None:
        try:
            return parse_reply(line)
        except ValueError as error:
            self.kill()
            raise TargetError(
                f"the answer of {self._name} on {self._link.name} cannot be read ({error})",
                "set the runner up again with devperf setup-android",
            ) from None

    def kill(self) -> None:
        """End the program on the phone, and everything it started."""
        with best_effort():
            self._link.script(
                f"kill -9 -{self.pid} 2>/dev/null; kill -9 {self.pid} 2>/dev/null",
                doing="ending a program",
                again=True,
            )
        self._stream.close()

    def close(self) -> None:
        """Close the program's input, which ends it; kill it if it is still at work (after an interrupt)."""
        if self._busy:
            self.kill()
            return
        try:
            self._stream.write(b"quit\n")
            self._stream.read_all(time.monotonic() + BEGIN_S)
        except Timeout:
            self.kill()
        except OSError:
            pass
        self._stream.close()

    def _read_pid(self) -> int:
        try:
            line = self._stream.read_line(time.monotonic() + BEGIN_S)
        except (EOFError, OSError, Timeout) as error:
            self._stream.close()
            raise lost(self._link.name, f"starting {self._name}", error) from error
        pid = parse_whole(line.strip())
        if pid is None or pid <= 1:  # used to kill the program; 0, 1 and negative numbers mean other processes
            self._stream.close()
            raise TargetError(f"{self._link.name} could not start {self._name} ({line.strip()})", "restart the phone")
        return pid

    def _last_words(self, error: OSError) -> RunnerReply:
        try:
            return self.receive(timeout_s=BEGIN_S)
        except TargetError as gone:
            raise gone from error

    def _ended(self, noise: str, error: EOFError) -> CaseError | TargetError:
        """Distinguish a program that died from a link that was cut."""
        code = self._stream.returncode
        self._stream.close()
        if code is None and self._link.packets:
            return lost(self._link.name, self._doing, "the link was cut")
        tail = self._tail() or noise or str(error)
        by = f"killed by signal {code - 128}" if code is not None and code > 128 else f"exit code {code}"  # noqa: PLR2004 - a shell's code for a signal
        return CaseError(f"{self._name} ended on {self._link.name} ({by}): {tail}", "see its last lines")

    def _refused(self, error: Failure) -> CaseError:
        words = " ".join(error.text.split())
        self._stream.close()
        return CaseError(f"{self._name} on {self._link.name} failed at {error.stage}: {words}")

    def _tail(self) -> str:
        with best_effort():
            seen = self._link.script(f"tail -c {TAIL_BYTES} {self._folder}/{ERRORS}", doing="reading its last lines")
            return " / ".join(line.strip() for line in seen.output.strip().splitlines()[-3:])
        return ""
