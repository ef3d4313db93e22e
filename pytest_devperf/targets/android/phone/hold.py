"""The changes of a session on one phone, from the claim before the first change to the check after the last undo."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pytest_devperf.english import counted
from pytest_devperf.errors import TargetError, UsageError
from pytest_devperf.sensor.android.clock import ClockReading
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.exit_guard import ExitGuard
from pytest_devperf.targets.android.phone.lease import Holder, Lease, is_alive
from pytest_devperf.targets.android.phone.limits import Limits, hold, read_limits
from pytest_devperf.targets.android.phone.pin import pin, switch
from pytest_devperf.targets.android.phone.reading import PhoneReading
from pytest_devperf.targets.android.phone.restore import MODE_WORDS, STAY_ON, restore
from pytest_devperf.targets.android.phone.undo_journal import SETTING, Changes, Left, UndoJournal, mine
from pytest_devperf.targets.protocol import Clock

LOOKS_FOR_ANOTHER, LEAVING_S = 5, 0.3
"""How often, and at what interval, to check a claim before it counts: adb ends a dead session's process within a tenth
of a second."""

SETTING_VALUES = ("", "0", "null")
"""Values of `stay_on_while_plugged_in` if the screen is not kept on."""


CLAIMED = "wait until it has ended; if it died with its network connection, unplug the phone or run `adb reconnect`"
"""The next step for a phone that another session has claimed."""


class Hold:
    """The changes of one session on one phone: its clocks and its screen.

    The undo is prepared first: the claim, the handlers and the journal precede the change.
    """

    def __init__(self, link: Link, clock: Clock, journal: UndoJournal, look: Callable[[], PhoneReading]) -> None:
        self._link = link
        self._clock = clock
        self._journal = journal
        self._look = look
        self._lease = Lease(link)
        self._guard = ExitGuard(self.release)
        self._changes: Changes | None = None
        self._held: Mapping[str, Limits] = {}
        self.why_not_pinned: str | None = None
        """Why the clocks are not pinned although that was requested."""
        self.why_not_awake: str | None = None
        """Why the screen is not kept on."""
        self.why_litter: str | None = None
        """Leftovers of an earlier session that cannot be removed."""
        self.swept: tuple[str, ...] = ()
        """Leftovers of an earlier session that were undone."""

    def take(self, *, pin_clocks: bool) -> None:
        """Claim the phone, undo leftovers, keep the screen on and, if requested, pin the clocks.

        Raises:
            UsageError: Another session measures on it, or leftovers cannot be undone.
            TargetError: The phone is gone, or has no writable folder.
        """
        holder = self._lease.take()
        try:
            self._sweep(self._journal.read())
            self._begin(holder, pin_clocks=pin_clocks)
        except BaseException:
            if self._changes is None:
                self._lease.release()
            raise
        if pin_clocks:
            self._pin()

    @property
    def broken(self) -> bool:
        """Whether the link dropped since the phone was claimed."""
        return self._lease.broken

    def renew(self) -> None:
        """Claim the phone again if the link dropped meanwhile.

        Raises:
            TargetError: The phone is gone, or another session has claimed it.
        """
        mine_now = self._changes
        if mine_now is None or not self._lease.broken:
            return
        found = self._journal.read().changes
        if found is not None and found.holder != mine_now.holder:
            self._changes = None  # the other session has undone the changes of this one
            raise TargetError(
                f"{self._link.name} was taken over by {found.session} while its link was down",
                "run again once it has ended",
            )
        self._changes = replace(mine_now, holder=self._lease.take())
        self._journal.write(self._changes)

    def holds(self, clocks: ClockReading) -> bool | None:
        """Check whether the clocks are still pinned; None if they were and that cannot be read any more."""
        if not self._held:
            return False
        return hold(self._held, read_limits(clocks))

    @property
    def pinned(self) -> bool:
        """Whether the clocks were seen to be pinned."""
        return bool(self._held)

    def release(self) -> None:
        """Undo everything and check that the phone shows it; do nothing when called again.

        Raises:
            TargetError: The phone is gone, or still shows a change; its journal stays for the next session.
        """
        changes, self._changes, self._held = self._changes, None, {}
        if changes is None:
            return
        try:
            self._undo(changes)
        finally:
            self._guard.disarm()
            self._lease.release()

    def changes(self) -> Changes | None:
        """Read what any session has changed on the phone and not undone; None if nothing is known.

        Raises:
            TargetError: The phone went away.
        """
        return self._journal.read().changes

    def leftover(self) -> str | None:
        """Describe what another session changed on the phone and has not undone; None if nothing.

        Raises:
            TargetError: The phone went away.
        """
        changes = self.changes()
        if changes is None or changes.empty:
            return None
        held = (("its clocks pinned", changes.pinned), ("its screen on", changes.stay_on is not None))
        what = " and ".join(words for words, is_so in held if is_so)
        living = changes.holder is not None and is_alive(self._link, changes.holder)
        return f"{changes.session} {'keeps' if living else 'left'} {what}"

    def force(self) -> str:
        """Undo the changes of any session; leave fixed-performance mode even without a journal.

        Returns:
            The changes that were undone, in words.

        Raises:
            UsageError: Another session measures on the phone.
            TargetError: The phone is gone, or still shows a change.
        """
        left = self._journal.read()
        if left.changes is None or left.changes.empty:
            refused = switch(self._link, on=False)
            off = "" if refused is not None else "; fixed-performance mode was left in any case"
            return f"nothing was noted as changed{off}"
        self._refuse_living(left.changes)
        return " and ".join(self._undo(left.changes))

    # -- below -----------------------------------------------------------------------------------

    def _sweep(self, left: Left) -> None:
        """Undo the leftovers of an earlier session, on whatever workstation it ran."""
        undone: tuple[str, ...] = ()
        if left.changes is not None:
            self._refuse_living(left.changes)
            try:
                undone = self._undo(left.changes)
            except TargetError as error:
                raise UsageError(f"{error.what}; an earlier session left it so", error.next_step) from error
        self.swept = undone + self._remove(left.litter)

    def _remove(self, litter: Sequence[str]) -> tuple[str, ...]:
        """Remove working folders and partly pushed files of dead sessions; return those removed, in words."""
        if not litter:
            return ()
        names = " ".join(litter)
        done = self._link.script(
            f"rm -rf {names} 2>/dev/null; ls -d {names} 2>/dev/null", doing="removing leftovers", timeout_s=120.0
        )
        kept = len(done.output.split())
        if kept:
            self.why_litter = f"{self._link.name} keeps {counted(kept, 'working folder')} of an earlier session"
        gone = len(litter) - kept
        return (counted(gone, "working folder"),) if gone else ()

    def _refuse_living(self, changes: Changes) -> None:
        """Refuse a phone that a session claims; give a session that was just killed the time to end."""
        for _ in range(LOOKS_FOR_ANOTHER):
            if changes.holder is None or not is_alive(self._link, changes.holder):
                return
            time.sleep(LEAVING_S)  # real time, that of the adb server, whatever the session's clock is
        raise UsageError(f"{self._link.name} is being measured by {changes.session}", CLAIMED)

    def _begin(self, holder: Holder, *, pin_clocks: bool) -> None:
        """Write the journal, then keep the screen on."""
        previous = self._read_setting()
        changes = mine(holder, pinned=pin_clocks, stay_on=previous)
        if not self._journal.begin(changes):
            rival = self._journal.read().changes
            raise UsageError(
                f"{self._link.name} is being measured by {rival.session if rival else 'another session'}",
                CLAIMED,
            )
        self._changes = changes
        self._guard.arm()
        if previous is not None:
            self._keep_awake()

    def _read_setting(self) -> str | None:
        """Read the setting for stay-awake; None if it cannot be read, and therefore not be restored."""
        done = self._link.script(f"settings get global {STAY_ON}", doing="reading a setting")
        printed = done.output.strip()
        if done.returncode == 0 and SETTING.fullmatch(printed):
            return printed
        self.why_not_awake = f"{self._link.name} does not show whether its screen stays on, so that is not changed"
        return None

    def _keep_awake(self) -> None:
        """Keep the screen on with any power source, and check that the setting was applied."""
        done = self._link.script(f"svc power stayon true; settings get global {STAY_ON}", doing="keeping its screen on")
        if done.output.strip().split("\n")[-1].strip() in SETTING_VALUES:
            self.why_not_awake = f"{self._link.name} does not keep its screen on"

    def _pin(self) -> None:
        """Pin the clocks; if the phone does not pin them, restore its state."""
        assert self._changes is not None
        result = pin(self._link, self._clock, self._look)
        if result.why_not is not None and result.asked:
            refused = switch(self._link, on=False)
            if refused is not None:
                raise TargetError(f"{self._link.name} does not leave fixed-performance mode ({refused})", "restart it")
        self.why_not_pinned, self._held = result.why_not, result.held
        if result.was_held:
            self.swept = (*self.swept, MODE_WORDS)
        self._changes = replace(self._changes, pinned=result.why_not is None, held=result.held)
        self._journal.write(self._changes)

    def _undo(self, changes: Changes) -> tuple[str, ...]:
        """Undo changes, and forget them once the phone shows the undo."""
        done = restore(self._link, self._clock, self._look, changes)
        if done.still:
            raise TargetError(f"{self._link.name} still has {' and '.join(done.still)}", "restart it, and run again")
        self._journal.clear()
        return done.undone
