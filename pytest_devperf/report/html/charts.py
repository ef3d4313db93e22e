"""The numbers that the charts of one metric are drawn from."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_devperf import stats
from pytest_devperf.english import counted
from pytest_devperf.metric import LARGEST_VALUE, NS_PER_MS, Kind
from pytest_devperf.record.record import Change, Confirmation, Measurement
from pytest_devperf.report.units import digits, scale_for

POINTS = 96
"""Points of a distribution's curve: finer ones do not show at the width of a page."""

FEWEST_FOR_CURVE = 20
"""Number of values from which a curve shows more than the values themselves."""

REACH = 4.0
"""How many IQRs beyond the quartiles the axis may go: one value that a scheduler made ten times longer must not flatten
the rest."""

NOUNS: Mapping[Kind, str] = {"rounds": "round"}
"""What a row of samples is called; of other kinds of metrics it is a value of a process start."""

_KHZ_PER_MHZ = 1000

_NS_PER_US = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """What is drawn of one metric, and the same in words."""

    numbers: Mapping[str, Any]
    """JSON values in the unit that is shown."""
    rounds_words: str
    spread_words: str
    now: str
    """The value now, with its unit."""
    then: str | None
    """The baseline's value."""
    limit: str | None
    """The value from which a change counts."""


def charts_of(metric: Measurement, change: Change | None, befores: Sequence[Measurement]) -> Charts | None:
    """Prepare the charts of a metric; None if it has no values, or absurd ones.

    Args:
        metric: Its measurement.
        change: Its comparison, if there is one.
        befores: The same metric in the runs of the baseline, newest first.
    """
    values = _values(metric)
    if metric.robust is None or not _drawable([metric.robust, *values]):
        return None
    unit, size = scale_for(metric.robust, metric.unit)
    scale = (1 / NS_PER_MS if metric.samples_ns is not None else 1.0) / size
    sources = [metric.against] if metric.against is not None else befores
    before = [source for source in sources if _drawable(_values(source))]
    then, bounds = _compared(change, size)
    now = metric.robust / size
    now_values = [value * scale for value in values]
    then_values = [value * scale for source in before for value in _values(source)]
    spread = _spread(now_values, then_values, [each for each in (now, then, *bounds) if each is not None])
    rounds = _rounds(metric, scale)
    noun = NOUNS.get(metric.kind, "value")
    numbers: dict[str, Any] = {"row": noun, "unit": unit, "now": shortened(now), "rounds": rounds, "spread": spread}
    if then is not None:
        numbers |= {"then": shortened(then), "limits": list(map(shortened, bounds)), "better": metric.better}
    if before:
        numbers["before"] = [shortened(stats.median(row) * scale) for row in _rows(before[0])]
    return Charts(
        numbers=numbers,
        rounds_words=_rounds_words(rounds, unit, noun=noun, then=then),
        spread_words=_spread_words(now_values, then_values, spread, unit),
        now=_spelt(now, unit),
        then=None if then is None else _spelt(then, unit),
        limit=_spelt(bounds[1 if metric.better == "lower" else 0], unit) if bounds else None,
    )


def _rows(held: Measurement | Confirmation) -> Sequence[Sequence[float]]:
    return [row for row in _all_rows(held) if row]


def _all_rows(held: Measurement | Confirmation) -> Sequence[Sequence[float]]:
    return (held.samples_ns if held.samples_ns is not None else held.samples) or ()


def _values(held: Measurement | Confirmation) -> list[float]:
    return [value for row in _all_rows(held) for value in row]


def _drawable(values: Sequence[float]) -> bool:
    """Return whether there are values, and whether squares and ratios of all of them are finite."""
    return bool(values) and all(abs(value) <= LARGEST_VALUE for value in values)


def _compared(change: Change | None, size: float) -> tuple[float | None, Sequence[float]]:
    """Return the baseline's value, and the values from which a change counts, downwards and upwards."""
    if change is None or change.baseline is None or not _drawable([change.baseline]):
        return None, ()
    then = change.baseline / size
    if change.threshold is None or not _drawable([change.threshold]):
        return then, ()
    return then, (then - change.threshold / size, then + change.threshold / size)


def _rounds(metric: Measurement, scale: float) -> dict[str, Any]:
    """Give the quartiles of every round and what surrounded it, the rounds of a confirmation behind the others."""
    looks: list[Measurement | Confirmation] = [metric, *filter(None, [metric.confirmation])]
    quartiles: list[tuple[float, float, float]] = []
    starts: list[int] = []
    beside: dict[str, list[float | None]] = {"temp": [], "clock": [], "anchor": []}
    first = 0
    for look in looks:
        rows = [(at, row) for at, row in enumerate(_all_rows(look)) if row]
        quartiles += [_quartiles([value * scale for value in row]) for _, row in rows]
        starts += [first + look.process[at] for at, _ in rows]
        first = max(starts, default=-1) + 1
        for name, values, size in (
            ("temp", look.temp_c, 1),
            ("clock", look.clock_khz, _KHZ_PER_MHZ),
            ("anchor", look.anchor_ns, _NS_PER_US),
        ):
            beside[name] += [_at(values, at, size) for at, _ in rows]
    found: dict[str, Any] = {
        "start": starts,
        "low": [shortened(low) for low, _, _ in quartiles],
        "mid": [shortened(mid) for _, mid, _ in quartiles],
        "high": [shortened(high) for _, _, high in quartiles],
    }
    if metric.confirmation is not None:
        found["again"] = len(_rows(metric))
    return found | {name: values for name, values in beside.items() if any(value is not None for value in values)}


def _at(values: Sequence[float | None], at: int, size: float) -> float | None:
    value = values[at] if at < len(values) else None
    return None if value is None else shortened(value / size)


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Give quartiles, or the whole range of values that are too few to have them."""
    ranked = sorted(values)
    if len(ranked) < stats.FEWEST_FOR_QUARTILES:
        return ranked[0], stats.median(ranked, presorted=True), ranked[-1]
    low, mid, high = (stats.quantile(ranked, q, presorted=True) for q in (0.25, 0.5, 0.75))
    return low, mid, high


def _spread(now: Sequence[float], then: Sequence[float], marks: Sequence[float]) -> dict[str, Any]:
    """Give both distributions over one axis: as curves, or value by value if there are few."""
    sides = [sorted(side) for side in (now, then) if side]
    low = min(*(max(side[0], _fence(side, 0.25, -REACH)) for side in sides), *marks)
    high = max(*(min(side[-1], _fence(side, 0.75, REACH)) for side in sides), *marks)
    pad = 0.06 * (high - low) or abs(high) * 0.01 or 1.0
    low, high = (0.0 if 0 <= low < pad else low - pad), high + pad  # no axis of times begins below zero
    found: dict[str, Any] = {"low": shortened(low), "high": shortened(high)}
    if min(map(len, sides)) < FEWEST_FOR_CURVE:
        return found | {"dots": [[shortened(value) for value in side] for side in sides]}
    curves = [_curve(side, low, high) for side in sides]
    top = max(max(curve) for curve in curves) or 1.0
    beyond = [len(side) - (bisect_right(side, high) - bisect_left(side, low)) for side in sides]
    return found | {"curves": [[round(1000 * each / top) for each in curve] for curve in curves], "beyond": beyond}


def _fence(ranked: Sequence[float], quantile: float, reach: float) -> float:
    """Give the value that lies so many IQRs from a quartile."""
    return stats.quantile(ranked, quantile, presorted=True) + reach * stats.iqr(ranked, presorted=True)


def _curve(ranked: Sequence[float], low: float, high: float) -> list[float]:
    """Estimate a density at `POINTS` equal steps, by a Gaussian kernel over values sorted into bins.

    Source:
        Silverman, "Density Estimation for Statistics and Data Analysis", 1986, equation 3.31 (bandwidth); and
        Wand, "Fast Computation of Multivariate Kernel Estimators", 1994 (linear binning).
    """
    step = (high - low) / (POINTS - 1)
    bins = [0.0] * (POINTS + 1)
    for value in ranked[bisect_left(ranked, low) : bisect_right(ranked, high)]:
        place = (value - low) / step
        below = int(place)
        bins[below] += 1 - (place - below)
        bins[below + 1] += place - below
    scatter = min(stats.std(ranked) or 0.0, stats.iqr(ranked, presorted=True) / 1.34) or stats.std(ranked) or 0.0
    width = max(0.9 * scatter * len(ranked) ** -0.2 / step, 0.75)  # in steps; less would show the bins
    reach = math.ceil(3 * width)
    kernel = [math.exp(-0.5 * (at / width) ** 2) / (width * len(ranked)) for at in range(reach + 1)]
    curve = [0.0] * POINTS
    for at, weight in enumerate(bins[:POINTS]):
        if weight:
            for to in range(max(0, at - reach), min(POINTS, at + reach + 1)):
                curve[to] += weight * kernel[abs(to - at)]
    return curve


def _rounds_words(rounds: Mapping[str, Any], unit: str, *, noun: str, then: float | None) -> str:
    mids = rounds["mid"]
    count = rounds.get("again", len(mids))
    starts = len(set(rounds["start"][:count]))
    words = [f"{counted(count, noun)} in {counted(starts, 'process start')}"]
    words.append(f"{'medians ' if noun == 'round' else ''}from {_spelt(min(mids), unit)} to {_spelt(max(mids), unit)}")
    if count < len(mids):
        words.append(f"then {counted(len(mids) - count, noun)} to confirm")
    if then is not None:
        words.append(f"the baseline is {_spelt(then, unit)}")
    return "; ".join(words)


def _spread_words(now: Sequence[float], then: Sequence[float], spread: Mapping[str, Any], unit: str) -> str:
    words = [f"{counted(len(now), 'value')} now, median {_spelt(stats.median(now), unit)}"]
    if then:
        words.append(f"{counted(len(then), 'value')} in the baseline, median {_spelt(stats.median(then), unit)}")
    beyond = sum(spread.get("beyond", ()))
    if beyond:
        words.append(f"{counted(beyond, 'value')} beyond the edges")
    return "; ".join(words)


def _spelt(value: float, unit: str) -> str:
    return f"{digits(value)} {unit}".rstrip()


def shortened(value: float) -> float:
    """Keep six digits: a chart has a thousand pixels."""
    return float(f"{value:.6g}")
