"""Clock limits: those that a command imposed, and whether they still apply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from pytest_devperf.sensor.android.clock import ClockReading


class Limits(NamedTuple):
    """The limits of one frequency policy, in kHz."""

    min_khz: int
    max_khz: int


def read_limits(clocks: ClockReading) -> dict[str, Limits]:
    """Collect the limits of every policy; a floor that cannot be read counts as none."""
    return {policy: Limits(clocks.min_khz.get(policy, 0), max_khz) for policy, max_khz in clocks.max_khz.items()}


def appeared(before: Mapping[str, Limits], after: Mapping[str, Limits]) -> dict[str, Limits]:
    """Find the policies whose limits became tighter: a lower cap, or a floor that rose to the cap.

    A cap that rises is the end of another limit and never counts; neither does a floor below the cap, which is a
    phone's reaction to a touch.

    >>> appeared({"policy0": Limits(300, 1800)}, {"policy0": Limits(300, 1500)})
    {'policy0': Limits(min_khz=300, max_khz=1500)}
    >>> appeared({"policy0": Limits(300, 1500)}, {"policy0": Limits(300, 1800)})
    {}
    """
    return {
        policy: now
        for policy, now in after.items()
        if policy in before
        and (now.max_khz < before[policy].max_khz or before[policy].min_khz < now.min_khz == now.max_khz)
    }


def hold(held: Mapping[str, Limits], now: Mapping[str, Limits]) -> bool | None:
    """Check whether limits still apply; None if the phone shows none of them.

    >>> hold({"policy0": Limits(1500, 1500)}, {"policy0": Limits(300, 1800)})
    False
    """
    pairs = [(limits, now[policy]) for policy, limits in held.items() if policy in now]
    return not any(_released(limits, shown) for limits, shown in pairs) if pairs else None


def _released(held: Limits, shown: Limits) -> bool:
    """Check whether one policy was released.

    Heat may lower a pinned cap further, and the kernel then lowers the floor with it: floor and cap stay equal. A floor
    that drops below the cap was released.
    """
    return shown.max_khz > held.max_khz or shown.min_khz < min(held.min_khz, shown.max_khz)


def format_limits(limits: Mapping[str, Limits]) -> str:
    """Format limits in one line.

    >>> format_limits({"policy0": Limits(300, 1800), "policy4": Limits(500, 2400)})
    'policy0:300-1800 policy4:500-2400'
    """
    return " ".join(f"{policy}:{each.min_khz}-{each.max_khz}" for policy, each in limits.items())


def parse_limits(text: str) -> dict[str, Limits]:
    """Parse limits; skip everything in another form.

    >>> parse_limits("policy0:300-1800 nonsense")
    {'policy0': Limits(min_khz=300, max_khz=1800)}
    """
    found = re.findall(r"(?<!\S)(policy[0-9]{1,3}):([0-9]{1,9})-([0-9]{1,9})(?!\S)", text)
    return {policy: Limits(int(least), int(most)) for policy, least, most in found}
