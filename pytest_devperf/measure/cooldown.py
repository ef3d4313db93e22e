"""Wait until a device has cooled down, step by step, so that the wait can be displayed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_devperf.errors import UsageError
from pytest_devperf.metric import LONGEST_S, NS_PER_S
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import HOST
from pytest_devperf.targets.protocol import Clock

POLL_S = 5.0
"""Time between two looks: half the shortest refresh interval of a phone's battery temperature."""

PLATEAU_C = 0.2
"""Fall over `WINDOW_S` below which a temperature is constant: two of the tenths in which a battery reports it."""

WINDOW_S = 60.0
"""Span of the slope; a battery temperature is refreshed every 10 to 60 s, so it contains at least one refresh."""

REFRESHES = 3
"""Distinct readings that replace a complete window: two define a slope, a third confirms that it ended."""

SETTLED_LOOKS = 2
"""Consecutive looks at the target that end the wait: a single one may be due to a late refresh."""

FLOOR_S = 30.0
CEILING_S = 900.0

Mode = Literal["auto", "off", "seconds", "temp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """The condition to wait for."""

    mode: Mode = "auto"
    """`auto`: a plateau on a phone, the end of throttling on a host. `temp`: a temperature."""
    seconds: float = 0.0
    """For `seconds`: the duration."""
    temp_c: float = 0.0
    """For `temp`: the highest temperature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """One look during a wait; the last one is `done`."""

    temp_c: float | None
    slope_c_per_min: float | None
    """Slope over the window; negative while cooling, None before two looks with a temperature."""
    waited_s: float
    left_s: float
    """The longest remaining time."""
    charging: bool | None = None
    """Whether the battery is charging, which keeps a phone near 35 °C."""
    throttled: bool | None = None
    settled: bool = False
    """Whether this look found the target."""
    timed_out: bool = False
    """Whether the wait reached its maximum: the case is still measured, with a caution."""
    done: bool = False


def parse_cooldown(text: str) -> Cooldown:
    """Parse `auto`, `off`, seconds, or `temp=C`.

    Raises:
        UsageError: It is none of these.

    >>> parse_cooldown("temp=37")
    Cooldown(mode='temp', seconds=0.0, temp_c=37.0)
    """
    word = text.strip().lower()
    if word in {"auto", "off"}:
        return Cooldown(mode="auto" if word == "auto" else "off")
    name, equals, number = word.partition("=")
    try:
        value = float(number if equals else word)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_S or (equals and name.strip() != "temp"):
        raise UsageError(
            f"--devperf-cooldown: {text!r} is not a cooldown", "use auto, off, a number of seconds, or temp=37"
        )
    return Cooldown(mode="temp", temp_c=value) if equals else Cooldown(mode="seconds", seconds=value)


def cool(
    look: Callable[[], Context],
    clock: Clock,
    *,
    mode: Cooldown,
    kind: str,
    floor_s: float = FLOOR_S,
    ceiling_s: float = CEILING_S,
) -> Iterator[Cooling]:
    """Wait for the target of a cooldown, with a look every few seconds.

    Args:
        look: Reads the sensors.
        clock: Used for all waits.
        mode: The condition to wait for.
        kind: Kind of device: with `auto`, a `host` waits only while it throttles, any other device for a plateau.
        floor_s: Shortest wait for a plateau.
        ceiling_s: Longest wait for a plateau or a temperature.

    Yields:
        Each look; the last one is `done`. Nothing for `off`.
    """
    if mode.mode == "off":
        return
    if mode.mode == "seconds":
        yield from _for_seconds(look, clock, mode.seconds)
        return
    host = kind == HOST
    plateau = mode.mode == "auto" and not host
    least_looks, least_s = (SETTLED_LOOKS, min(floor_s, ceiling_s)) if plateau else (1, 0.0)
    started_ns = clock.now_ns()
    looks: list[tuple[float, Context]] = []
    settled_looks = 0
    while True:
        waited_s = (clock.now_ns() - started_ns) / NS_PER_S
        looks.append((waited_s, look()))
        settled = _found_target(looks, mode, host=host)
        settled_looks = settled_looks + 1 if settled else 0
        enough = settled_looks >= least_looks and waited_s >= least_s
        timed_out = not enough and waited_s >= ceiling_s
        yield _cooling(looks, ceiling_s, settled=settled, timed_out=timed_out, done=enough or timed_out)
        if enough or timed_out:
            return
        clock.sleep(min(POLL_S, max(ceiling_s - waited_s, 1 / 1000)))


def _for_seconds(look: Callable[[], Context], clock: Clock, seconds: float) -> Iterator[Cooling]:
    """Wait for a fixed duration, regardless of the temperature."""
    started_ns = clock.now_ns()
    looks: list[tuple[float, Context]] = []
    waited_s = 0.0
    while waited_s < seconds:
        looks.append((waited_s, look()))
        yield _cooling(looks, seconds, settled=False, timed_out=False, done=False)
        clock.sleep(min(POLL_S, max(seconds - waited_s, 1 / 1000)))
        waited_s = (clock.now_ns() - started_ns) / NS_PER_S
    looks.append((waited_s, look()))
    yield _cooling(looks, seconds, settled=True, timed_out=False, done=True)


def _found_target(looks: Sequence[tuple[float, Context]], mode: Cooldown, *, host: bool) -> bool:
    """Return whether the latest look found the target."""
    now = looks[-1][1]
    if now.throttled:
        return False
    if mode.mode == "temp":
        # A device without a thermometer would always wait for the maximum, without any benefit.
        return now.temp_c is None or now.temp_c <= mode.temp_c
    return host or _stands_still(looks)


def _stands_still(looks: Sequence[tuple[float, Context]]) -> bool:
    """Return whether the temperature has stopped falling.

    Requires a complete window of looks, or three distinct readings within a shorter one: between two refreshes of
    a battery's thermometer every temperature seems constant. Without a thermometer, only the window
    counts.
    """
    window = _window(looks)
    span_s = window[-1][0] - window[0][0]
    if span_s < WINDOW_S and _refreshes(window) < REFRESHES:
        return False
    slope = _slope(window)
    return slope is None or slope > -PLATEAU_C * 60 / WINDOW_S


def _window(looks: Sequence[tuple[float, Context]]) -> Sequence[tuple[float, Context]]:
    """Return the looks of the last window, including one at or before its start if available."""
    latest_s = looks[-1][0]
    first = 0
    for index, (at_s, _) in enumerate(looks):
        if at_s <= latest_s - WINDOW_S:
            first = index
    return looks[first:]


def _refreshes(window: Sequence[tuple[float, Context]]) -> int:
    """Count distinct readings: a different temperature, or a refresh reported by the sensor."""
    count, before = 0, None
    for _, seen in window:
        if seen.temp_c is not None and (seen.temp_c != before or seen.settled):
            count += 1
            before = seen.temp_c
    return count


def _slope(looks: Sequence[tuple[float, Context]]) -> float | None:
    """Compute the slope in °C per minute between the first and the last known temperature of a window."""
    known = [(at_s, seen.temp_c) for at_s, seen in _window(looks) if seen.temp_c is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0]:  # noqa: PLR2004 - a slope needs two points
        return None
    return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0]) * 60


def _cooling(
    looks: Sequence[tuple[float, Context]], ceiling_s: float, *, settled: bool, timed_out: bool, done: bool
) -> Cooling:
    waited_s, now = looks[-1]
    return Cooling(
        temp_c=now.temp_c,
        slope_c_per_min=_slope(looks),
        waited_s=waited_s,
        left_s=0.0 if done else max(0.0, ceiling_s - waited_s),
        charging=now.charging,
        throttled=now.throttled,
        settled=settled,
        timed_out=timed_out,
        done=done,
    )
