"""Whether a phone's clocks are held: by limits that appeared with the command and stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.limits import Limits, appeared, hold, read_limits
from pytest_devperf.targets.android.phone.reading import PhoneReading, is_cooled_more, reference_of
from pytest_devperf.targets.android.phone.restore import FIXED, SETTLE_S
from pytest_devperf.targets.protocol import Clock

UNSEEN = "{name} does not show its clocks, so nobody can tell whether they are held"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What came of the attempt to hold a phone's clocks."""

    held: Mapping[str, Limits] = field(default_factory=dict)
    """Limits that hold them, by policy; empty: they are not held."""
    why_not: str | None = None
    asked: bool = True
    """Whether the phone took the command, so that it has to be taken back."""
    was_held: bool = False
    """Whether the clocks were held before, by somebody who left no journal."""


def pin(link: Link, clock: Clock, look: Callable[[], PhoneReading]) -> Pinned:
    """Ask for fixed performance, and look twice whether it holds the clocks.

    A phone that shows no change may have been held before, by whoever: it is let go of and asked once more.

    Raises:
        TargetError: The phone went away.
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
    """Decide whether clocks are held: limits appeared, stayed through a second look, and heat does not explain them.

    Args:
        before: A look before the command.
        first: A look after it.
        second: A later one.
        name: What messages call the phone.
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
        return Pinned(why_not=f"{name} accepts fixed-performance mode and lets go of its clocks by itself")
    return Pinned(held=stayed)


def switch(link: Link, *, on: bool) -> str | None:
    """Enter or leave fixed-performance mode; None, or what the phone said against it.

    Raises:
        TargetError: The phone went away.
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
