"""Estimate one run: its centre, its spread, and the floors of its process starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.compare.policy import Iqr
from pytest_devperf.measure.undisturbed import undisturbed
from pytest_devperf.metric import LARGEST_VALUE, LONGEST_NS, SHORTEST_NS
from pytest_devperf.record.derived import centre_of_few
from pytest_devperf.record.record import Confirmation, Measurement

FEWEST_ROUNDS = 3
"""Fewest rounds for which the minimum of their medians is not a coincidence."""

FEWEST_VALUES = 3
"""Fewest values of a load or a size for a meaningful spread."""

FEWEST_RECORDED = 1
"""Fewest values that a test recorded itself: they are compared exactly, or with the tolerance given, so even one is
enough. On a phone a test runs only once."""


class NotSamples(ValueError):
    """Raw samples that are not a measurement: NaN, infinite, zero, negative or implausible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The values of one side; in ns for times, otherwise in the metric's unit."""

    robust: float
    """Lowest centre of a round, or the median of a few values."""
    iqr: float
    floors: tuple[float, ...]
    """Lowest centre of each process start, or the value of each start."""
    anchors: tuple[float, ...]
    """Anchor of the round of each floor; empty without an anchor."""
    levels: tuple[float, ...]
    """Lowest anchor of each process start: the highest speed of the machine; empty without an anchor."""
    tick: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Values):
    """One run."""

    interrupted: int
    """Rounds in which every iteration waited for a CPU."""
    rounds: int
    iterations: int
    """Number of values in the shortest round; 0 for a metric with few values."""
    fewest: int
    """Fewest rounds or values for a verdict."""

    @property
    def disturbed(self) -> bool:
        """Whether most rounds were interrupted, so that their floors are affected."""
        return 2 * self.interrupted > self.rounds

    @property
    def judgeable(self) -> bool:
        """Whether there are enough rounds or values for a verdict, without those of other runs."""
        return self.rounds >= self.fewest

    def with_look(self, other: Estimate) -> Estimate:
        """Combine this look with a second one at the same code."""
        return Estimate(
            robust=min(self.robust, other.robust),
            iqr=min(self.iqr, other.iqr),
            floors=self.floors + other.floors,
            anchors=self.anchors + other.anchors,
            levels=self.levels + other.levels,
            interrupted=self.interrupted + other.interrupted,
            tick=max(self.tick, other.tick),
            rounds=self.rounds + other.rounds,
            iterations=min(self.iterations, other.iterations),
            fewest=max(self.fewest, other.fewest),
        )


def estimate(
    measurement: Measurement, *, rounds: int | None = None, iqr: Iqr = "undisturbed", anchor: bool = True
) -> Estimate:
    """Estimate one run.

    Args:
        measurement: The metric with its raw samples.
        rounds: Use only this many rounds from the beginning; None: all.
        iqr: Which IQR is the run's own.
        anchor: Whether to use the anchor, if every round has one.

    Raises:
        NotSamples: A sample is NaN, infinite, implausible, or (for a time) not above zero; or there are none.
    """
    return _estimate(measurement, measurement, rounds=rounds, iqr=iqr, anchor=anchor)


def estimate_confirmation(
    measurement: Measurement, *, iqr: Iqr = "undisturbed", anchor: bool = True
) -> Estimate | None:
    """Estimate the second look; return None if there is none.

    Raises:
        NotSamples: As `estimate`.
    """
    looked = measurement.confirmation
    if looked is None or not (looked.samples_ns or looked.samples):
        return None
    return _estimate(measurement, looked, rounds=None, iqr=iqr, anchor=anchor)


def _estimate(
    measurement: Measurement, source: Measurement | Confirmation, *, rounds: int | None, iqr: Iqr, anchor: bool
) -> Estimate:
    if measurement.kind == "rounds":
        return _of_rounds(measurement, source, rounds=rounds, iqr=iqr, anchor=anchor)
    return _of_few(source, FEWEST_RECORDED if measurement.kind == "recorded" else FEWEST_VALUES)


def _of_rounds(
    measurement: Measurement, source: Measurement | Confirmation, *, rounds: int | None, iqr: Iqr, anchor: bool
) -> Estimate:
    rows = list(map(sorted, (source.samples_ns or source.samples or ())[:rounds]))
    if not rows or not all(rows):
        raise NotSamples("it contains no samples")
    if not _within(rows, SHORTEST_NS, LONGEST_NS):
        raise NotSamples("it contains a sample that is NaN, infinite, zero, negative or implausible")
    centres, spread, interrupted = _round_estimates(measurement, source, rows, iqr)
    process = source.process[: len(rows)]
    anchors = _anchors(source, len(rows)) if anchor else ()
    lowest = _lowest(centres, process)
    return Estimate(
        robust=min(centres),
        iqr=spread,
        floors=tuple(centres[place] for place in lowest),
        anchors=tuple(anchors[place] for place in lowest) if anchors else (),
        levels=tuple(anchors[place] for place in _lowest(anchors, process)) if anchors else (),
        interrupted=interrupted,
        tick=_tick(measurement, longest_ns=max(row[-1] for row in rows)),
        rounds=len(rows),
        iterations=(shortest := min(map(len, rows))),
        fewest=FEWEST_ROUNDS if shortest >= stats.FEWEST_FOR_QUARTILES else stats.FEWEST_FOR_QUARTILES,
    )


def _round_estimates(
    measurement: Measurement, source: Measurement | Confirmation, rows: Sequence[Sequence[float]], iqr: Iqr
) -> tuple[Sequence[float], float, int]:
    """Estimate rounds by their undisturbed part or by all iterations: centres, IQR, and which were interrupted."""
    if iqr == "undisturbed":
        ran_ns = source.ran_ns if len(source.ran_ns) >= len(rows) else ()
        found = undisturbed(rows, ran_ns, measurement.inner_loops or 1)
        return found.centres, found.iqr, sum(found.interrupted)
    centres, widths = stats.centres_and_widths(rows)
    within = stats.within_iqr(rows, centres, widths)
    return centres, within if iqr == "within" else stats.iqr([value for row in rows for value in row]), 0


def _of_few(source: Measurement | Confirmation, fewest: int) -> Estimate:
    timed = source.samples_ns is not None
    rows = [sorted(row) for row in (source.samples_ns or source.samples or ()) if row]
    if not rows:
        raise NotSamples("it contains no values")
    if not (_within(rows, SHORTEST_NS, LONGEST_NS) if timed else _within(rows, -LARGEST_VALUE, LARGEST_VALUE)):
        raise NotSamples("it contains a value that is NaN, infinite or implausible, or a time that is zero or negative")
    robust, spread = centre_of_few(rows)
    return Estimate(
        robust=robust,
        iqr=spread,
        floors=_starts(source),
        anchors=(),
        levels=(),
        interrupted=0,
        tick=0.0,
        rounds=sum(map(len, rows)),
        iterations=0,
        fewest=fewest,
    )


def _lowest(values: Sequence[float], process: Sequence[int]) -> tuple[int, ...]:
    """Return the index of the lowest value of each process start."""
    places: dict[int, int] = {}
    for place, (start, value) in enumerate(zip(process, values, strict=False)):
        if start not in places or value < values[places[start]]:
            places[start] = place
    return tuple(places.values())


def _starts(source: Measurement | Confirmation) -> tuple[float, ...]:
    """Return the median of the values of each process start."""
    values: dict[int, list[float]] = {}
    rows = source.samples_ns if source.samples_ns is not None else source.samples or ()
    for start, row in zip(source.process, rows, strict=False):
        values.setdefault(start, []).extend(row)
    return tuple(stats.median(found) for found in values.values() if found)


def anchored_throughout(measurement: Measurement) -> bool:
    """Return whether every round has its anchor, including those of the confirmation."""
    looked = measurement.confirmation
    looks: list[Measurement | Confirmation] = [measurement]
    if looked is not None and looked.samples_ns:
        looks.append(looked)
    return all(look.process and len(look.anchor_ns) == len(look.process) and all(look.anchor_ns) for look in looks)


def _anchors(source: Measurement | Confirmation, count: int) -> Sequence[float]:
    """Return the anchor of each round; empty if any round lacks it."""
    anchors = source.anchor_ns[:count]
    if len(anchors) < count:
        return ()
    known = [at for at in anchors if at]
    return known if len(known) == count and _within((sorted(known),), SHORTEST_NS, LONGEST_NS) else ()


def _within(rows: Sequence[Sequence[float]], lowest: float, highest: float) -> bool:
    """Return whether all values are finite and within bounds.

    Args:
        rows: Sorted rows, none empty. A NaN, which no order has a place for, makes the sum one.
        lowest: The lowest valid value.
        highest: The highest valid value.
    """
    return (
        math.isfinite(sum(map(sum, rows)))
        and lowest <= min(row[0] for row in rows)
        and max(row[-1] for row in rows) <= highest
    )


def _tick(measurement: Measurement, *, longest_ns: float) -> float:
    """Return the clock's step in ns: the stored one (the smallest step between samples), else from the samples.

    Raises:
        NotSamples: It is longer than the longest sample, or negative, which no clock can be.
    """
    if measurement.tick_ns is not None:
        if not 0 <= measurement.tick_ns <= longest_ns:
            raise NotSamples(f"its clock has a step of {measurement.tick_ns:g} ns, longer than every sample")
        return measurement.tick_ns
    return stats.smallest_step(value for row in measurement.samples_ns or () for value in row) or 0.0
