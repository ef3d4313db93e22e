"""Whether this machine throttled while something ran: a few reads before and after, cheap enough for every round."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from pytest_devperf.sensor.linux import LinuxSensors
from pytest_devperf.sensor.macos import MacSensors


class Heat(Protocol):
    """What of a machine's sensors tells throttling."""

    def throttle_count(self) -> int | None:
        """Read a counter that only rises while throttling."""
        ...

    def throttled_now(self) -> bool | None:
        """Tell whether something slows the processor now."""
        ...

    def temps_c(self, *, quick: bool) -> dict[str, float]:
        """Read temperatures; in a quick look the deciding ones alone."""
        ...

    def temp_c(self, temps_c: Mapping[str, float]) -> float | None:
        """Choose the deciding temperature."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What was seen between `begin` and `end`."""

    throttled: bool | None = None
    temp_c: float | None = None
    """The deciding temperature at the end: where it ran, it is highest there."""


class ThrottleWatch:
    """Tells throttling between two moments.

    Args:
        heat: Where the readings come from; None: this machine, found once per process; nothing is known on Windows.
    """

    def __init__(self, heat: Heat | None = None) -> None:
        self._heat = heat if heat is not None else _own_heat()
        self._count: int | None = None

    def begin(self) -> None:
        """Read the counter before; outside everything that is timed."""
        if self._heat is not None:
            self._count = self._heat.throttle_count()

    def end(self) -> Stretch:
        """Read it again: it rose, or something still slows the processor down."""
        heat = self._heat
        if heat is None:
            return Stretch()
        now, count = heat.throttled_now(), heat.throttle_count()
        known = [state for state in (now, _rose(self._count, count)) if state is not None]
        return Stretch(throttled=any(known) if known else None, temp_c=heat.temp_c(heat.temps_c(quick=True)))


def _rose(before: int | None, after: int | None) -> bool | None:
    return None if before is None or after is None else after > before


@lru_cache(maxsize=1)
def _own_heat() -> Heat | None:
    if sys.platform == "win32":
        return None
    return MacSensors() if sys.platform == "darwin" else LinuxSensors()
