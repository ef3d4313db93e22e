"""Holding a phone's clocks still, and letting go of them whatever happens."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from pytest_devperf.errors import TargetError, UsageError
from pytest_devperf.target.android.link import Link
from pytest_devperf.target.android.look import Seen
from pytest_devperf.target.android.note import Note, Notes, mine
from pytest_devperf.target.target import Clock

SETTLE_S = 1.5
"""Wait until the clocks show a change of mode."""

FIXED = "cmd power set-fixed-performance-mode-enabled"
"""Android 11 and later. Source: AOSP PowerManagerShellCommand. Return code 0 proves nothing."""

STAY_ON = "stay_on_while_plugged_in"
"""Global setting behind `svc power stayon`. Source: AOSP PowerManagerShellCommand, Settings.Global."""

DEADLY = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end Python without a word. SIGINT arrives as KeyboardInterrupt and unwinds."""


class Hold:
    """What we hold changed on one phone: its clocks and its screen.

    The way back is laid before the first step: handlers and notes come first, then the change.
    """

    def __init__(self, link: Link, clock: Clock, notes: Notes, look: Callable[[], Seen]) -> None:
        self._link = link
        self._clock = clock
        self._notes = notes
        self._look = look
        self._note: Note | None = None
        self._before: dict[int, Any] = {}
        self.pinned = False
        """Whether the clocks are held for certain."""
        self.words: str | None = None
        """Why they are not, where that was tried."""

    def sweep(self) -> str | None:
        """Undo what an earlier session left behind.

        Returns:
            What was undone, in words; None where nothing was left.

        Raises:
            UsageError: Another session of this machine is using the phone.
            TargetError: The phone went away.
        """
        note = self._notes.read()
        if note is None or note.empty:
            return None
        if note.in_use:
            raise UsageError(
                f"{self._link.name} is being measured by another session (process {note.pid})",
                "wait until it has ended",
            )
        if not note.abandoned:
            self.words = f"another computer's session has changed {self._link.name}; `devperf unpin` undoes it"
            return None
        return undo(self._notes, note)

    def force(self) -> str:
        """Undo what a note says, whoever wrote it; without a note let go of the clocks all the same.

        Returns:
            What was undone, in words.

        Raises:
            TargetError: The phone went away.
        """
        note = self._notes.read()
        if note is not None and not note.empty:
            return undo(self._notes, note)
        undo(self._notes, Note(pinned=True))
        return "nothing was noted as changed; fixed-performance mode is off in any case"

    def take(self, *, pin: bool, stay_on: bool = True) -> None:
        """Keep the screen on and, if asked to, hold the clocks.

        Raises:
            TargetError: The phone went away.
        """
        previous = self._stay_on() if stay_on else None
        self._note = mine(pinned=pin, stay_on=previous)
        self._lay_the_way_back()
        self._notes.write(self._note, then="svc power stayon usb" if stay_on else "true")
        if pin:
            self._pin()

    def release(self) -> None:
        """Undo everything; called again it does nothing.

        Raises:
            TargetError: The phone went away; its note stays, and the next start undoes it.
        """
        note, self._note = self._note, None
        self.pinned = False
        if note is not None:
            undo(self._notes, note)
        self._take_handlers_back()

    # -- below -----------------------------------------------------------------------------------

    def _pin(self) -> None:
        """Ask for fixed performance and look whether it came about."""
        before = self._look()
        done = self._link.script(f"{FIXED} true", doing="holding its clocks", again=False)
        if done.returncode != 0:
            said = " ".join((done.error_output or done.output).split())[:120]
            self.words = f"{self._link.name} refuses fixed-performance mode ({said or 'no reason given'})"
            self._unpin()
            return
        self._clock.sleep(SETTLE_S)
        after = self._look()
        self.words = why_not_pinned(before, after, self._link.name)
        self.pinned = self.words is None
        if not self.pinned:
            self._unpin()

    def _unpin(self) -> None:
        let_go = f"{FIXED} false >/dev/null 2>&1"
        self._link.script(let_go, doing="letting go of its clocks")
        if self._note is not None:
            self._note = mine(pinned=False, stay_on=self._note.stay_on)
            self._notes.write(self._note)

    def _stay_on(self) -> str:
        said = self._link.script(f"settings get global {STAY_ON}", doing="reading a setting").output.strip()
        return said if said.isdecimal() else "null"

    def _lay_the_way_back(self) -> None:
        atexit.register(self._release_quietly)
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread may; the exit handler stays
        for number in DEADLY:
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup: it does not end this process
                self._before[number] = signal.signal(number, self._on_signal)

    def _take_handlers_back(self) -> None:
        atexit.unregister(self._release_quietly)
        for number, handler in self._before.items():
            # Somebody may have set another one meanwhile: that one stays.
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._before.clear()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        before = self._before.get(number)
        self._release_quietly()
        if callable(before):
            before(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _release_quietly(self) -> None:
        with contextlib.suppress(TargetError, OSError):
            self.release()


def why_not_pinned(before: Seen, after: Seen, name: str) -> str | None:
    """Tell why clocks do not count as held; None where a cap appeared that heat does not explain."""
    if before.clocks.state != "value" or after.clocks.state != "value":
        return f"{name} does not show its clocks, so nobody can tell whether they are held"
    if not changed(before.clocks.max_khz, after.clocks.max_khz) and not changed(
        before.clocks.min_khz, after.clocks.min_khz
    ):
        return f"{name} accepts fixed-performance mode and does nothing"
    if before.thermal.throttled or after.thermal.throttled:
        return f"{name} throttles, so a cap proves nothing"
    return None


def changed(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Tell whether a limit moved; both looks must have it."""
    return any(before[policy] != khz for policy, khz in after.items() if policy in before)


def undo(notes: Notes, note: Note) -> str:
    """Undo what a note says, and forget it.

    Raises:
        TargetError: The phone went away; the note stays.
    """
    lines, words = [], []
    if note.pinned:
        lines.append(f"{FIXED} false")
        words.append("fixed-performance mode")
    if note.stay_on is not None:
        back = (
            f"settings delete global {STAY_ON}"
            if note.stay_on == "null"
            else f"settings put global {STAY_ON} {note.stay_on}"
        )
        lines.append(back)
        words.append("stay-awake")
    notes.forget(after="\n".join(f"{line} >/dev/null 2>&1" for line in lines))
    return " and ".join(words)
