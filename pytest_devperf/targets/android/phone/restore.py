"""Undo the changes in a journal, and check that the phone shows the undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_devperf.errors import TargetError
from pytest_devperf.sensor.batch import Batch, ProbeOutput, format_batch, split_batch
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.limits import hold, read_limits
from pytest_devperf.targets.android.phone.reading import PhoneReading
from pytest_devperf.targets.android.phone.undo_journal import Changes
from pytest_devperf.targets.protocol import Clock

SETTLE_S = 1.5
"""Longest time until a phone's clocks show a change of mode; a second was observed."""

LOOKS = 3
"""Readings, `SETTLE_S` apart, after which clocks count as still pinned."""

FIXED = "cmd power set-fixed-performance-mode-enabled"
"""Android 11 and later. Source: AOSP PowerManagerShellCommand. Return code 0 proves nothing."""

STAY_ON = "stay_on_while_plugged_in"
"""Global setting behind `svc power stayon`. Source: AOSP PowerManagerService, Settings.Global."""

MODE_WORDS, SCREEN_WORDS = "fixed-performance mode", "stay-awake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result of an undo."""

    undone: tuple[str, ...] = ()
    """Changes that the phone shows as undone, in words."""
    still: tuple[str, ...] = ()
    """Changes that it still shows, with the reason."""


def restore(link: Link, clock: Clock, look: Callable[[], PhoneReading], changes: Changes) -> Restored:
    """Undo changes, and check that the phone shows the undo.

    Args:
        link: The phone.
        clock: Waits until the clocks have settled.
        look: Reads the sensors.
        changes: The changes to undo.

    Raises:
        TargetError: The phone is gone.
    """
    probes = {}
    if changes.pinned:
        probes["mode"] = f"{FIXED} false"
    if changes.stay_on is not None:
        put = f"put global {STAY_ON} {changes.stay_on}"
        probes["write"] = f"settings {f'delete global {STAY_ON}' if changes.stay_on == 'null' else put}"
        probes["setting"] = f"settings get global {STAY_ON}"
    batch = split_batch(link.script(format_batch(probes), doing="undoing changes").output, tuple(probes))
    if not batch.complete:
        raise TargetError(f"{link.name} cut its answer off while undoing changes", "run again")
    problems: dict[str, str | None] = {}
    if changes.pinned:
        problems[MODE_WORDS] = _mode_problem(batch.answers["mode"], clock, look, changes)
    if changes.stay_on is not None:
        problems[SCREEN_WORDS] = _setting_problem(batch, changes.stay_on)
    return Restored(
        undone=tuple(what for what, problem in problems.items() if problem is None),
        still=tuple(f"{what} ({problem})" for what, problem in problems.items() if problem is not None),
    )


def _mode_problem(answer: ProbeOutput, clock: Clock, look: Callable[[], PhoneReading], changes: Changes) -> str | None:
    """Return why the clocks count as still pinned; None if they do not.

    The clocks decide if they are known: a return code proves nothing, and a restart of the phone ends the mode although
    it may refuse the command.
    """
    if not changes.held:
        return None  # the mode never had an effect; a phone that refuses both commands has no such mode
    held = None
    for attempt in range(LOOKS):
        if attempt:
            clock.sleep(SETTLE_S)
        held = hold(changes.held, read_limits(look().clocks))
        if held is False:
            return None
    if answer.rc != 0:
        return f"`{FIXED} false` ended with exit code {answer.rc}: {_output(answer)}"
    return None if held is None else "the command succeeds, but the clock limits stay"


def _setting_problem(batch: Batch, previous: str) -> str | None:
    """Return why the setting counts as still changed; None if it does not."""
    now = batch.text("setting").strip()
    if now == previous:
        return None
    return f"the setting {STAY_ON} is {now[:40] or 'unreadable'}, and was {previous}: {_output(batch.answers['write'])}"


def _output(answer: ProbeOutput) -> str:
    return " ".join(answer.text.split())[:120] or "no output"
