"""Estimate the time of the code without interference by the machine.

Interference only adds time: another program on the CPU, a neighbour on the same core, a garbage collection. So the
slower half of a round may be due to the machine, while the faster half is due to the code: its median is the round's
centre, its interquartile range the round's width. If iterations are so long that even the faster ones were interrupted,
the time that the thread waited for a CPU, according to the kernel, is subtracted instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.measure.round import Earlier, Round, StartResult

FEWEST_FOR_HALVES = 12
"""Fewest iterations for which a round has a meaningful faster half: three values on either side of its quartiles."""

FEWEST_CALM = 3
"""Fewest undisturbed rounds for which the narrowest is not a coincidence."""

NARROWEST_TO_USUAL = 2.0
"""Ratio of the usual width of a dozen rounds to the narrowest: the IQR of 30 values varies by a third."""

THREADS_SLACK = 1.1
"""Ratio of CPU time to running time up to which only one thread worked: the two clocks are not read at once."""

CENTRE, LOW, HIGH = 0.25, 0.125, 0.375
"""Quartiles and median of the faster half, as quantiles of all iterations of a round."""


@dataclass(frozen=True, slots=True)
class RoundEstimates:
    """Centre and width of each round, and whether its iterations were interrupted; times per call."""

    centres: Sequence[float]
    widths: Sequence[float]
    interrupted: Sequence[bool]
    """Whether even the faster half of the iterations waited for a CPU; the width then means nothing."""
    fewest: int
    """Number of iterations in the shortest round."""

    @property
    def iqr(self) -> float:
        """The run's own IQR: twice that of the narrowest round, which is the least disturbed one.

        If nearly every round was interrupted, or rounds have too few iterations for quartiles, it is the IQR of the
        rounds' centres instead.
        """
        calm = [width for width, cut in zip(self.widths, self.interrupted, strict=True) if not cut]
        if len(calm) >= FEWEST_CALM and self.fewest >= stats.FEWEST_FOR_QUARTILES:
            return NARROWEST_TO_USUAL * min(calm)
        if len(self.centres) >= stats.FEWEST_FOR_QUARTILES or self.fewest < stats.FEWEST_FOR_QUARTILES:
            return stats.iqr(self.centres)
        return stats.median(self.widths)


def undisturbed(
    rows: Sequence[Sequence[float]], ran_ns: Sequence[float | None] = (), inner_loops: int = 1
) -> RoundEstimates:
    """Estimate rounds from their undisturbed part.

    Args:
        rows: (rounds, iterations) ns per call, no row empty.
        ran_ns: (rounds,) as returned by `ran_of`; empty if not known.
        inner_loops: Calls per iteration.
    """
    centres, widths = stats.centres_and_widths(rows, *_quantiles(rows))
    interrupted = [False] * len(centres)
    for place, ran in enumerate(ran_ns[: len(centres)]):
        net = ran / (len(rows[place]) * inner_loops) if ran else None
        if net is not None and net < centres[place]:
            centres[place], interrupted[place] = net, True
    return RoundEstimates(centres, widths, interrupted, min(map(len, rows)))


def centre_ns(taken: Round, inner_loops: int) -> float:
    """Return the centre of one round in ns per call."""
    return undisturbed([taken.samples_ns], [ran_of(taken)], inner_loops).centres[0]


def with_round(so_far: Earlier, taken: Round, inner_loops: int) -> Earlier:
    """Return the summary with one more round."""
    centre, width = centre_ns(taken, inner_loops), len(taken.samples_ns)
    return Earlier(
        medians_ns=(*so_far.medians_ns, stats.median(taken.samples_ns)),
        lowest_ns=centre if so_far.lowest_ns is None else min(centre, so_far.lowest_ns),
        width=width if so_far.width is None else min(width, so_far.width),
    )


def earlier_of(start_results: Iterable[StartResult]) -> Earlier:
    """Summarise earlier starts of a look.

    Args:
        start_results: The result of each start for one metric.
    """
    so_far = Earlier()
    for start_result in start_results:
        for taken in start_result.rounds:
            so_far = with_round(so_far, taken, start_result.inner_loops)
    return so_far


def ran_of(taken: Round) -> int | None:
    """Return the wall time of a round without the time that its thread waited for a CPU, in ns.

    Returns:
        None if not known, or if more than one thread worked, since their waits overlap.
    """
    if taken.wall_ns is None or taken.waited_ns is None:
        return None
    ran_ns = taken.wall_ns - taken.waited_ns
    if ran_ns <= 0 or (taken.cpu_ns is not None and taken.cpu_ns > THREADS_SLACK * ran_ns):
        return None
    return ran_ns


def _quantiles(rows: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return centre and quartiles: those of the faster half, or of all iterations if a round has few."""
    return (CENTRE, LOW, HIGH) if min(map(len, rows)) >= FEWEST_FOR_HALVES else (0.5, 0.25, 0.75)
