"""What one side of a comparison comes to: its centre, its spread, and the floors of its process starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pytest_devperf import stats
from pytest_devperf.compare import machine
from pytest_devperf.compare.policy import Iqr
from pytest_devperf.measure.undisturbed import undisturbed
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

MOST_LIFT = 0.015
"""Most by which a baseline's best start is taken for less of a lucky one, as a fraction. Beyond it lies what starts
share, a machine that changed in mid-run above all."""


class NotSamples(ValueError):
    """Raw samples that are no measurement: NaN, infinite, zero, negative or absurd."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One run's side; values in ns for times, else in the metric's unit."""

    robust: float
    """Lowest centre of a round, or the median of few values."""
    iqr: float
    floors: tuple[float, ...]
    """Lowest centre of each process start, or the value of each start."""
    anchors: tuple[float, ...]
    """Anchor of the round that each floor comes from; empty without an anchor."""
    levels: tuple[float, ...]
    """Lowest anchor of each process start: how fast the machine was at its best; empty without an anchor."""
    interrupted: int
    """Rounds whose iterations all waited for a CPU."""
    tick: float
    rounds: int
    iterations: int
    """Values in the shortest round; 0 for few values."""

    @property
    def disturbed(self) -> bool:
        """Whether most rounds were interrupted, so that their floors hold traces of it."""
        return 2 * self.interrupted > self.rounds

    def with_look(self, other: Estimate) -> Estimate:
        """Take a second look at the same code together with this one."""
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
        )


@dataclass(frozen=True, slots=True)
class Side:
    """What all runs of one side come to together."""

    robust: float
    iqr: float
    floors: tuple[float, ...]
    anchors: tuple[float, ...]
    levels: tuple[float, ...]
    level: float | None
    """Median of its runs' lowest anchors."""
    disturbed: bool
    """Whether most of its runs were interrupted in most rounds."""
    tick: float
    starts: int
    """Most process starts of a run."""
    judgeable: bool
    """Whether there are values enough to judge by."""


def estimate(
    measurement: Measurement, *, rounds: int | None = None, iqr: Iqr = "undisturbed", anchor: bool = True
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


def estimate_confirmation(
    measurement: Measurement, *, iqr: Iqr = "undisturbed", anchor: bool = True
) -> Estimate | None:
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
    return _of_few(source)


def _of_rounds(
    measurement: Measurement, source: Measurement | Confirmation, *, rounds: int | None, iqr: Iqr, anchor: bool
) -> Estimate:
    rows = (source.samples_ns or source.samples or ())[:rounds]
    if not rows or not all(rows):
        raise NotSamples("it holds no samples")
    if not _within(rows, SHORTEST_NS, LONGEST_NS):
        raise NotSamples("it holds a sample that is NaN, infinite, zero or negative, or that nothing takes")
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
        tick=_tick(measurement, longest_ns=max(map(max, rows))),
        rounds=len(rows),
        iterations=min(map(len, rows)),
    )


def _round_estimates(
    measurement: Measurement, source: Measurement | Confirmation, rows: Sequence[Sequence[float]], iqr: Iqr
) -> tuple[Sequence[float], float, int]:
    """Estimate rounds by their undisturbed part, or by all iterations: their centres, the IQR, the interrupted ones."""
    if iqr == "undisturbed":
        ran_ns = source.ran_ns if len(source.ran_ns) >= len(rows) else ()
        found = undisturbed(rows, ran_ns, measurement.inner_loops or 1)
        return found.centres, found.iqr, sum(found.interrupted)
    centres, widths = stats.centres_and_widths(rows)
    within = stats.within_iqr(rows, centres, widths)
    return centres, within if iqr == "within" else stats.iqr([value for row in rows for value in row]), 0


def _of_few(source: Measurement | Confirmation) -> Estimate:
    timed = source.samples_ns is not None
    rows = [row for row in (source.samples_ns or source.samples or ()) if row]
    if not rows:
        raise NotSamples("it holds no values")
    if not (_within(rows, SHORTEST_NS, LONGEST_NS) if timed else _within(rows, -LARGEST_VALUE, LARGEST_VALUE)):
        raise NotSamples("it holds a value that is NaN, infinite or absurd, or a time that is zero or negative")
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
    )


def history(estimates: Sequence[Estimate], *, higher: bool = False, starts: int | None = None) -> Side:
    """Combine the runs of a baseline: one, two, or more of them.

    One run stands for itself. Of two the better centre counts, their difference is the spread. From three
    the median counts; the spread is their range, and from five 1.5 times their IQR. What the anchor explains
    of the spread (slow days of the machine) is left out. The spread widens the IQR. Floors of all runs stay.

    Args:
        estimates: One per run, not empty.
        higher: Whether higher is better.
        starts: Process starts of the run that is compared: the best of a baseline's starts is taken as if it had
            as many; None: as it is.
    """
    count = len(estimates)
    anchored = all(one.anchors for one in estimates)
    floors = tuple(floor for one in estimates for floor in one.floors)
    anchors = tuple(anchor for one in estimates for anchor in one.anchors) if anchored else ()
    calm = machine.without(floors, anchors, machine.exponent((floors, anchors)).value) if anchored else ()
    places = accumulate((len(one.floors) for one in estimates), initial=0)
    own = [calm[start:end] for start, end in pairwise(places)] if anchored else [()] * count
    centres = [_as_of(one, calm_floors, starts) for one, calm_floors in zip(estimates, own, strict=True)]
    best = max(centres) if higher else min(centres)
    centre = stats.median(centres) if count >= FEWEST_VALUES else best
    spread = _spread(centres)
    if anchored and count > 1:
        lowest = [math.exp(min(each)) for each in own]
        spread = min(spread, _spread(lowest) * stats.median(centres) / stats.median(lowest))
    return Side(
        robust=centre,
        iqr=max(stats.median([one.iqr for one in estimates]), spread),
        floors=floors,
        anchors=anchors,
        levels=tuple(level for one in estimates for level in one.levels) if anchored else (),
        level=stats.median([min(one.levels) for one in estimates]) if anchored else None,
        disturbed=2 * sum(one.disturbed for one in estimates) > count,
        tick=max(one.tick for one in estimates),
        starts=max(len(one.floors) for one in estimates),
        judgeable=_judgeable(estimates),
    )


def _as_of(one: Estimate, calm: Sequence[float], starts: int | None) -> float:
    """Give a run's centre as if it had had fewer process starts: the expected best of as many of its own.

    The best of twelve starts lies below the best of six though nothing changed. Only what the anchor does not
    explain counts, and at most `MOST_LIFT`.

    Args:
        one: The run.
        calm: Logarithms of its floors without what the anchor explains; empty without an anchor.
        starts: As many as it is to be taken for; None: all of its own.
    """
    if not one.iterations or starts is None or starts >= len(one.floors):
        return one.robust
    lift = _expected_least(one.floors, starts) / one.robust
    if calm:
        lift = min(lift, math.exp(_expected_least(calm, starts) - min(calm)))
    return one.robust * min(max(lift, 1.0), 1 + MOST_LIFT)


def _expected_least(values: Sequence[float], count: int) -> float:
    """Give the mean, over all choices of `count` values, of the least of them."""
    ranked = sorted(values)
    ways = math.comb(len(ranked), count)
    return math.fsum(value * math.comb(len(ranked) - 1 - place, count - 1) / ways for place, value in enumerate(ranked))


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


def _lowest(values: Sequence[float], process: Sequence[int]) -> tuple[int, ...]:
    """Find where the lowest value of each process start stands."""
    places: dict[int, int] = {}
    for place, (start, value) in enumerate(zip(process, values, strict=False)):
        if start not in places or value < values[places[start]]:
            places[start] = place
    return tuple(places.values())


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
