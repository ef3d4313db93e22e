"""Pin a phone's clocks; they count as pinned if limits appeared with the command and stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.limits import Limits, appeared, hold, read_limits
from pytest_devperf.targets.android.phone.reading import PhoneReading, is_cooled_more, reference_of
from pytest_devperf.targets.android.phone.restore import FIXED, SETTLE_S
from pytest_devperf.targets.protocol import Clock

UNSEEN = "{name} does not show its clocks, so nobody can check whether they are held"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """The result of an attempt to pin a phone's clocks."""

    held: Mapping[str, Limits] = field(default_factory=dict)
    """Limits that pin them, by policy; empty: they are not pinned."""
    why_not: str | None = None
    asked: bool = True
    """Whether the phone accepted the command, so that it has to be undone."""
    was_held: bool = False
    """Whether the clocks were pinned before, by somebody who left no journal."""


def pin(link: Link, clock: Clock, look: Callable[[], PhoneReading]) -> Pinned:
    """Request fixed performance, and check twice whether it pins the clocks.

    A phone that shows no change may have been pinned before, by anybody: unpin it and try once more.

    Raises:
        TargetError: The phone is gone.
    """
    before = look()
    if before.clocks.state != "value":
        return Pinned(why_not=UNSEEN.format(name=link.name), asked=False)
    refused = switch(link, on=True)
    if refused is not None:
        return Pinned(why_not=f"{link.name} refuses fixed-performance mode ({refused})", asked=False)
    first = _look_later(clock, look)
    if _appeared(before, first):
        return judge_pin(before, first, _look_later(clock, look), link.name)
    switch(link, on=False)
    free = _look_later(clock, look)
    if not _appeared(free, first):
        return judge_pin(before, first, first, link.name)
    switch(link, on=True)
    first = _look_later(clock, look)
    return replace(judge_pin(free, first, _look_later(clock, look), link.name), was_held=True)


def judge_pin(before: PhoneReading, first: PhoneReading, second: PhoneReading, name: str) -> Pinned:
    """Decide whether clocks are pinned: limits appeared and stayed, and heat does not explain them.

    Args:
        before: Reading before the command.
        first: Reading after it.
        second: A later reading.
        name: Name of the phone for messages.
    """
    looks = (before, first, second)
    if any(each.clocks.state != "value" for each in looks):
        return Pinned(why_not=UNSEEN.format(name=name))
    held = _appeared(before, first)
    if not held:
        return Pinned(why_not=f"{name} accepts fixed-performance mode and does nothing")
    if any(each.thermal.throttled for each in looks) or is_cooled_more(second, reference_of(before)):
        return Pinned(why_not=f"{name} throttles, so a lower clock limit proves nothing")
    now = read_limits(second.clocks)
    stayed = {policy: limits for policy, limits in held.items() if hold({policy: limits}, now)}
    if not stayed:
        return Pinned(why_not=f"{name} accepts fixed-performance mode and releases its clocks by itself")
    return Pinned(held=stayed)


def switch(link: Link, *, on: bool) -> str | None:
    """Enter or leave fixed-performance mode; return the phone's error message, or None.

    Raises:
        TargetError: The phone is gone.
    """
    done = link.script(f"{FIXED} {'true' if on else 'false'}", doing="holding its clocks", again=not on)
    if done.returncode == 0:
        return None
    return " ".join((done.error_output or done.output).split())[:120] or f"exit code {done.returncode}"


def _look_later(clock: Clock, look: Callable[[], PhoneReading]) -> PhoneReading:
    clock.sleep(SETTLE_S)
    return look()


def _appeared(before: PhoneReading, after: PhoneReading) -> dict[str, Limits]:
    return appeared(read_limits(before.clocks), read_limits(after.clocks))
