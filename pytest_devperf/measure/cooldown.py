"""Waiting until a device has cooled down, step by step, so that the wait can be shown."""

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
"""Time between two looks: half the shortest refresh of a phone's battery temperature."""

PLATEAU_C = 0.2
"""Fall over `WINDOW_S` below which a temperature stands still: two of the tenths a battery reports in."""

WINDOW_S = 60.0
"""Span of the slope; a battery temperature is refreshed every 10 to 60 s, so this holds one refresh at least."""

REFRESHES = 3
"""Distinct reads that stand for a window that is not yet over: two steps make a slope, a third its end."""

SETTLED_LOOKS = 2
"""Consecutive settled looks that end the wait: one can be a refresh that was late."""

FLOOR_S = 30.0
CEILING_S = 900.0

Mode = Literal["auto", "off", "seconds", "temp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """What is waited for."""

    mode: Mode = "auto"
    """`auto`: a plateau on a phone, the end of throttling on a host. `temp`: a temperature."""
    seconds: float = 0.0
    """Of `seconds`: how long."""
    temp_c: float = 0.0
    """Of `temp`: at most this warm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """One look of a wait; the last one is `done`."""

    temp_c: float | None
    slope_c_per_min: float | None
    """Rise over the window; negative while it falls, None until two looks have a temperature."""
    waited_s: float
    left_s: float
    """The longest it can still take."""
    charging: bool | None = None
    """Whether it charges, which keeps a phone near 35 °C."""
    throttled: bool | None = None
    settled: bool = False
    """Whether this look found what is waited for."""
    timed_out: bool = False
    """Whether the ceiling ended the wait: it is measured all the same, with a caution."""
    done: bool = False


def parse_cooldown(text: str) -> Cooldown:
    """Read `auto`, `off`, seconds, or `temp=C`.

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
    """Wait for what a cooldown asks for, looking every few seconds.

    Args:
        look: Reads the sensors.
        clock: Waits; the only sleep.
        mode: What is waited for.
        kind: Of device: on a `host`, `auto` waits only while it throttles; on any other for a plateau.
        floor_s: Least wait for a plateau.
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
        settled = _settled(looks, mode, host=host)
        settled_looks = settled_looks + 1 if settled else 0
        enough = settled_looks >= least_looks and waited_s >= least_s
        timed_out = not enough and waited_s >= ceiling_s
        yield _cooling(looks, ceiling_s, settled=settled, timed_out=timed_out, done=enough or timed_out)
        if enough or timed_out:
            return
        clock.sleep(min(POLL_S, max(ceiling_s - waited_s, 1 / 1000)))


def _for_seconds(look: Callable[[], Context], clock: Clock, seconds: float) -> Iterator[Cooling]:
    """Wait a given time, whatever the temperature does."""
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


def _settled(looks: Sequence[tuple[float, Context]], mode: Cooldown, *, host: bool) -> bool:
    """Tell whether the latest look found what is waited for."""
    now = looks[-1][1]
    if now.throttled:
        return False
    if mode.mode == "temp":
        # A device without a thermometer would wait for the ceiling and learn nothing from it.
        return now.temp_c is None or now.temp_c <= mode.temp_c
    return host or _stands_still(looks)


def _stands_still(looks: Sequence[tuple[float, Context]]) -> bool:
    """Tell whether the temperature has stopped falling.

    It takes a whole window of looks, or three distinct reads within a shorter one: between two refreshes of
    a battery's thermometer every temperature stands still. Where there is no thermometer the window alone
    counts.
    """
    window = _window(looks)
    span_s = window[-1][0] - window[0][0]
    if span_s < WINDOW_S and _refreshes(window) < REFRESHES:
        return False
    slope = _slope(window)
    return slope is None or slope > -PLATEAU_C * 60 / WINDOW_S


def _window(looks: Sequence[tuple[float, Context]]) -> Sequence[tuple[float, Context]]:
    """Choose the looks of the last window, with one at or before its start where there is one."""
    latest_s = looks[-1][0]
    first = 0
    for index, (at_s, _) in enumerate(looks):
        if at_s <= latest_s - WINDOW_S:
            first = index
    return looks[first:]


def _refreshes(window: Sequence[tuple[float, Context]]) -> int:
    """Count distinct reads: another temperature, or a refresh that the sensor tells of."""
    count, before = 0, None
    for _, seen in window:
        if seen.temp_c is not None and (seen.temp_c != before or seen.settled):
            count += 1
            before = seen.temp_c
    return count


def _slope(looks: Sequence[tuple[float, Context]]) -> float | None:
    """Measure the rise in °C per minute between the first and the last known temperature of a window."""
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
