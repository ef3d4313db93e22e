"""A phone's sensors; each reading is compared with the previous one and with the session's start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pytest_devperf.errors import TargetError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.reading import (
    BRIEF,
    SCRIPT,
    PhoneReading,
    Reference,
    cpu_percent,
    deciding_c,
    make_context,
    most_used_mb,
    parse_sensors,
    reference_of,
    throttles,
)
from pytest_devperf.targets.protocol import RoundContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Extremes:
    """The worst values sampled while something ran."""

    caps_khz: Mapping[str, int] = field(default_factory=dict)
    """Lowest frequency cap of each policy."""
    free_bytes: int | None = None
    """Least memory that was available."""


Surround = Callable[[Extremes], RoundContext]
"""Returns the context of a round, from the samples taken meanwhile and the sensors right after it."""


class PhoneSensors:
    """Reads the sensors of one phone.

    Args:
        link: The phone.
        cpus: CPUs that workloads are bound to; None: the phone chooses.
    """

    def __init__(self, link: Link, cpus: tuple[int, ...] | None) -> None:
        self._link = link
        self._cpus = cpus
        self._before: PhoneReading | None = None
        self._start = Reference()

    @property
    def policies(self) -> tuple[str, ...]:
        """Frequency policies whose caps are sampled while something runs."""
        return tuple(self._start.max_khz)

    def begin(self) -> None:
        """Take the phone's current state as the session's start; later readings are judged against it.

        Raises:
            TargetError: The phone is gone.
        """
        self._start = reference_of(self.read_sensors())

    def read_sensors(self, script: str = SCRIPT) -> PhoneReading:
        """Read the sensors in one round trip, and keep each sensor's own reading.

        Args:
            script: `SCRIPT`, `BRIEF` or `IDLE`.

        Raises:
            TargetError: The phone is gone, or its answer was cut off twice.
        """
        for _ in range(2):  # after a cut answer, try once more
            seen = parse_sensors(self._link.script(script, doing="reading its sensors").output)
            if seen is not None:
                return seen if self._cpus is None else replace(seen, cpus=self._cpus)
        raise TargetError(f"{self._link.name} cut its answer off while reading its sensors", "try another cable")

    def describe(self, seen: PhoneReading, *, at_ns: int) -> Context:
        """Convert a reading to a context, with the values that need the difference to the previous reading.

        Args:
            seen: The reading.
            at_ns: Its time on the session's clock.
        """
        before, self._before = self._before, seen
        return make_context(seen, at_ns=at_ns, before=before, start=self._start)

    def surround(self, extremes: Extremes) -> RoundContext:
        """Return the context of a run: from samples taken during it, and a reading right after it.

        Raises:
            TargetError: The phone is gone.
        """
        before = self._before
        seen = self._before = self.read_sensors(BRIEF)
        caps = self._start.max_khz
        lower = any(khz < caps.get(policy, khz) for policy, khz in extremes.caps_khz.items())
        allowed = [min(khz, extremes.caps_khz.get(policy, khz)) for policy, khz in seen.clocks.max_khz.items()]
        return RoundContext(
            throttled=True if lower else throttles(seen, self._start),
            temp_c=deciding_c(seen),
            clock_khz=max(allowed, default=None),
            cpu_pct=cpu_percent(seen, before),
            used_ram_mb=most_used_mb(seen, extremes.free_bytes),
        )
