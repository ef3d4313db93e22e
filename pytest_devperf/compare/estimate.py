"""What one side of a comparison comes to: its centre, its spread, and the floors of its process starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.compare.policy import Iqr
from pytest_devperf.metric import LARGEST_VALUE, LONGEST_NS, SHORTEST_NS
from pytest_devperf.record.measurement import centre_of_few
from pytest_devperf.record.record import Confirmation, Measurement

FEWEST_ROUNDS = 3
"""Rounds below which the minimum of their medians is chance."""

FEWEST_VALUES = 3
"""Values of a load, a size or a record below which there is no spread to judge by."""

ENOUGH_FOR_IQR = 5
"""Saved runs from which the IQR of their centres is taken instead of their range."""

IQR_TO_SPREAD = 1.5
"""Factor of that IQR: it then spans what the range of three or four runs spans."""


class NotSamples(ValueError):
    """Raw samples that are no measurement: NaN, infinite, zero, negative or absurd."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One run's side; values in ns for times, else in the metric's unit."""

    robust: float
    """Minimum of the round medians, or the median of few values."""
    iqr: float
    floors: tuple[float, ...]
    """Lowest round median of each process start, or the value of each start."""
    floors_n: tuple[float, ...]
    """The same of medians divided by their round's anchor; empty without an anchor."""
    n: float | None
    """Median of round medians divided by their round's anchor."""
    gap: float
    """How far the best process start stands from the next; what the anchor explains is left out."""
    level: float | None
    """Lowest anchor of a round: how fast the machine was at its best; None without an anchor."""
    tick: float
    rounds: int
    iterations: int
    """Values in the shortest round."""


@dataclass(frozen=True, slots=True)
class Side:
    """What all runs of one side come to together."""

    robust: float
    iqr: float
    floors: tuple[float, ...]
    floors_n: tuple[float, ...]
    n: float | None
    gap: float
    """Largest gap of its runs."""
    level: float | None
    """Median of its runs' levels."""
    tick: float
    starts: int
    """Most process starts of a run."""
    judgeable: bool
    """Whether there are values enough to judge by."""


def estimate(
    measurement: Measurement, *, rounds: int | None = None, iqr: Iqr = "within", anchor: bool = True
) -> Estimate:
    """Estimate one run.

    Args:
        measurement: With raw samples.
        rounds: Take only the first so many rounds; None: all.
        iqr: Which IQR is the run's own.
        anchor: Whether the anchor may be used; it is not where a round lacks it.

    Raises:
        NotSamples: A sample is NaN, infinite, absurd, or (of a time) not above zero; or there are none.
    """
    return _estimate(measurement, measurement, rounds=rounds, iqr=iqr, anchor=anchor)


def estimate_confirmation(measurement: Measurement, *, iqr: Iqr = "within", anchor: bool = True) -> Estimate | None:
    """Estimate the second look; None where there is none.

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
    return _of_few(measurement, source)


def _of_rounds(
    measurement: Measurement, source: Measurement | Confirmation, *, rounds: int | None, iqr: Iqr, anchor: bool
) -> Estimate:
    rows = (source.samples_ns or source.samples or ())[:rounds]
    if not rows or not all(rows):
        raise NotSamples("it holds no samples")
    centres, widths = stats.centres_and_widths(rows)
    if not _within(rows, SHORTEST_NS, LONGEST_NS):
        raise NotSamples("it holds a sample that is NaN, infinite, zero or negative, or that nothing takes")
    process = source.process[: len(rows)]
    anchors = _anchors(source, len(rows)) if anchor else ()
    ratios = [centre / at for centre, at in zip(centres, anchors, strict=True)] if anchors else []
    spread = stats.within_iqr(rows, centres, widths) if iqr == "within" else stats.iqr([v for row in rows for v in row])
    floors, floors_n = _floors(centres, process), _floors(ratios, process)
    gap = _gap(floors)
    return Estimate(
        robust=min(centres),
        iqr=spread,
        floors=floors,
        floors_n=floors_n,
        n=stats.median(ratios) if ratios else None,
        gap=min(gap, _gap(floors_n) * stats.median(anchors)) if anchors else gap,
        level=min(anchors) if anchors else None,
        tick=_tick(measurement, longest_ns=max(map(max, rows))),
        rounds=len(rows),
        iterations=min(map(len, rows)),
    )


def _of_few(measurement: Measurement, source: Measurement | Confirmation) -> Estimate:
    timed = source.samples_ns is not None
    rows = [row for row in (source.samples_ns or source.samples or ()) if row]
    if not rows:
        raise NotSamples("it holds no values")
    if not (_within(rows, SHORTEST_NS, LONGEST_NS) if timed else _within(rows, -LARGEST_VALUE, LARGEST_VALUE)):
        raise NotSamples("it holds a value that is NaN, infinite or absurd, or a time that is zero or negative")
    robust, spread = centre_of_few(rows)
    floors = _starts(source)
    return Estimate(
        robust=robust,
        iqr=spread,
        floors=floors,
        floors_n=(),
        n=None,
        gap=_gap([-value for value in floors] if measurement.better == "higher" else floors),
        level=None,
        tick=0.0,
        rounds=sum(map(len, rows)),
        iterations=0,
    )


def history(estimates: Sequence[Estimate], *, higher: bool = False) -> Side:
    """Combine the runs of a baseline: one, two, or more of them.

    One run stands for itself. Of two the better centre counts, their difference is the spread. From three
    the median counts; the spread is their range, and from five 1.5 times their IQR. What the anchor explains
    of the spread (slow days of the machine) is left out. The spread widens the IQR. Floors of all runs stay;
    `n` is the median over the runs.

    Args:
        estimates: One per run, not empty.
        higher: Whether higher is better.
    """
    centres = [one.robust for one in estimates]
    count = len(centres)
    best = max(centres) if higher else min(centres)
    centre = stats.median(centres) if count >= FEWEST_VALUES else best
    anchored = all(one.n is not None for one in estimates)
    spread = _spread(centres)
    if anchored and count > 1:
        centres_n = [min(one.floors_n) for one in estimates]
        spread = min(spread, _spread(centres_n) * stats.median(centres) / stats.median(centres_n))
    return Side(
        robust=centre,
        iqr=max(stats.median([one.iqr for one in estimates]), spread),
        floors=tuple(floor for one in estimates for floor in one.floors),
        floors_n=tuple(floor for one in estimates for floor in one.floors_n) if anchored else (),
        n=stats.median([one.n for one in estimates if one.n is not None]) if anchored else None,
        gap=max(one.gap for one in estimates),
        level=stats.median([one.level for one in estimates if one.level is not None]) if anchored else None,
        tick=max(one.tick for one in estimates),
        starts=max(len(one.floors) for one in estimates),
        judgeable=_judgeable(estimates),
    )


def _spread(centres: Sequence[float]) -> float:
    """Measure how far the centres of saved runs lie apart: 1.5 times their IQR from five on, else their range."""
    if len(centres) >= ENOUGH_FOR_IQR:
        return IQR_TO_SPREAD * stats.iqr(centres)
    return max(centres) - min(centres)


def _judgeable(estimates: Sequence[Estimate]) -> bool:
    """Tell whether there are rounds, or values, enough on this side."""
    if not estimates[0].iterations:
        return sum(one.rounds for one in estimates) >= FEWEST_VALUES
    return all(
        one.rounds >= (FEWEST_ROUNDS if one.iterations >= stats.FEWEST_FOR_QUARTILES else stats.FEWEST_FOR_QUARTILES)
        for one in estimates
    )


def _floors(values: Sequence[float], process: Sequence[int]) -> tuple[float, ...]:
    """Give the lowest value of each process start."""
    lowest: dict[int, float] = {}
    for start, value in zip(process, values, strict=False):
        if start not in lowest or value < lowest[start]:
            lowest[start] = value
    return tuple(lowest.values())


def _starts(source: Measurement | Confirmation) -> tuple[float, ...]:
    """Give the median of the values of each process start."""
    values: dict[int, list[float]] = {}
    rows = source.samples_ns if source.samples_ns is not None else source.samples or ()
    for start, row in zip(source.process, rows, strict=False):
        values.setdefault(start, []).extend(row)
    return tuple(stats.median(found) for found in values.values() if found)


def anchored_throughout(measurement: Measurement) -> bool:
    """Tell whether every round has its anchor, those of the confirmation too."""
    looked = measurement.confirmation
    looks: list[Measurement | Confirmation] = [measurement]
    if looked is not None and looked.samples_ns:
        looks.append(looked)
    return all(look.process and len(look.anchor_ns) == len(look.process) and all(look.anchor_ns) for look in looks)


def _anchors(source: Measurement | Confirmation, count: int) -> Sequence[float]:
    """Give the anchor of each round; none at all where a round lacks it."""
    anchors = source.anchor_ns[:count]
    if len(anchors) < count:
        return ()
    known = [at for at in anchors if at]
    return known if len(known) == count and _within((known,), SHORTEST_NS, LONGEST_NS) else ()


def _within(rows: Sequence[Sequence[float]], lowest: float, highest: float) -> bool:
    """Tell whether all values are finite and lie within bounds; no row is empty."""
    return math.isfinite(sum(map(sum, rows))) and lowest <= min(map(min, rows)) and max(map(max, rows)) <= highest


def _tick(measurement: Measurement, *, longest_ns: float) -> float:
    """Give the clock's step in ns: as stored (it holds the smallest step between samples), else from the samples.

    Raises:
        NotSamples: It is longer than the longest sample, or negative: no clock moves so.
    """
    if measurement.tick_ns is not None:
        if not 0 <= measurement.tick_ns <= longest_ns:
            raise NotSamples(f"its clock moves by {measurement.tick_ns:g} ns, more than it timed")
        return measurement.tick_ns
    return stats.smallest_step(value for row in measurement.samples_ns or () for value in row) or 0.0


def _gap(floors: Sequence[float]) -> float:
    """Measure the distance of the lowest two."""
    if len(floors) < 2:  # noqa: PLR2004 - a distance needs two
        return 0.0
    lowest, following = sorted(floors)[:2]
    return following - lowest
