"""A phone's sensors, each look related to the one before and to the session's start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_devperf.errors import TargetError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.android.extremes import Extremes
from pytest_devperf.targets.android.link import Link
from pytest_devperf.targets.android.look import (
    BRIEF,
    SCRIPT,
    Seen,
    Start,
    cpu_percent,
    deciding_c,
    make_context,
    most_used_mb,
    parse_look,
    start_of,
    throttles,
)
from pytest_devperf.targets.protocol import RoundContext


class PhoneSensors:
    """Reads the sensors of one phone.

    Args:
        link: The phone.
        cpus: CPUs that workloads are bound to; None: those the phone gives them.
    """

    def __init__(self, link: Link, cpus: tuple[int, ...] | None) -> None:
        self._link = link
        self._cpus = cpus
        self._before: Seen | None = None
        self._start = Start()

    @property
    def policies(self) -> tuple[str, ...]:
        """Frequency policies whose caps are watched while something runs."""
        return tuple(self._start.max_khz)

    def begin(self) -> None:
        """Take the phone as it is now for the session's start, which later looks are judged against.

        Raises:
            TargetError: The phone went away.
        """
        self._start = start_of(self.see())

    def see(self, script: str = SCRIPT) -> Seen:
        """Read the sensors in one round trip, and keep each one's own reading.

        Args:
            script: `SCRIPT`, `BRIEF` or `IDLE`.

        Raises:
            TargetError: The phone went away, or its answer was cut off twice.
        """
        for _ in range(2):  # a cut answer is asked for once more
            seen = parse_look(self._link.script(script, doing="reading its sensors").output)
            if seen is not None:
                return seen if self._cpus is None else replace(seen, cpus=self._cpus)
        raise TargetError(f"{self._link.name} cut its answer off while reading its sensors", "try another cable")

    def describe(
        self,
        seen: Seen,
        *,
        at_ns: int,
        pinned: bool | None,
        anchor: str | None,
        env: Mapping[str, str | None],
    ) -> Context:
        """Make a context of a look, with what only the difference to the look before shows.

        Args:
            seen: The look.
            at_ns: When, by the session's clock.
            pinned: Whether the clocks are held.
            anchor: Identity of the anchor kernel.
            env: Facts of software.
        """
        before, self._before = self._before, seen
        return make_context(seen, at_ns=at_ns, before=before, start=self._start, pinned=pinned, anchor=anchor, env=env)

    def surround(self, extremes: Extremes) -> RoundContext:
        """Describe what surrounded a run: by what was sampled during it, and by a look right after it.

        Raises:
            TargetError: The phone went away.
        """
        before = self._before
        seen = self._before = self.see(BRIEF)
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
