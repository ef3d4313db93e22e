"""The rules by which the peers call a benchmark slower, as formulas on the same samples.

Every rule receives two arrays (rounds, iterations) of nanoseconds, baseline and candidate, and returns whether it would
report a regression. If a peer only prints a number and leaves the threshold to the user, the rule uses the threshold in
its documentation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]
"""(rounds, iterations) ns."""

Rule = Callable[[Samples, Samples], bool]

RESAMPLES = 400
"""Bootstrap resamples; Criterion takes 100,000, a table of many thousand verdicts can't. Its 95 % bounds
stand on the 10th value from either end, which moves the bound by about a tenth of its width."""

PYPERF_CRITICAL_T = 1.96
"""pyperf's two-tailed 95 % critical value from 200 degrees of freedom on."""


def _beyond_5_percent(statistic: Callable[[Samples], np.floating[npt.NBitBase]], base: Samples, now: Samples) -> bool:
    """Compare one statistic of all samples, as pytest-benchmark's `--benchmark-compare-fail=FIELD:5%` does.

    Source: pytest_benchmark/utils.py, `PercentageRegressionCheck`.
    """
    return float(statistic(now) / statistic(base)) * 100 - 100 > 5


def pyperf_t_test(base: Samples, now: Samples) -> bool:
    """Student's two-sample, two-tailed t-test at 95 % on all values, and the mean is higher.

    Source: pyperf/_utils.py, `is_significant`. Its t-score needs equally many values on both sides.
    """
    a, b = base.ravel(), now.ravel()
    pooled = (a.var(ddof=1) * (a.size - 1) + b.var(ddof=1) * (b.size - 1)) / (a.size + b.size - 2)
    if pooled == 0:
        return bool(b.mean() > a.mean())
    t = (b.mean() - a.mean()) / math.sqrt(2 * pooled / a.size)
    return bool(t >= PYPERF_CRITICAL_T)


@functools.cache
def _resamples(size: int) -> npt.NDArray[np.int64]:
    """Draw the samples of each resample: (RESAMPLES, size), the same for every verdict."""
    return np.random.default_rng(size).integers(0, size, (RESAMPLES, size))


def criterion(base: Samples, now: Samples) -> bool:
    """Criterion.rs: a t-test at 5 %, and the bootstrapped 95 % interval of the mean's change beyond 1 %.

    The t distribution is bootstrapped there; with hundreds of samples it is the normal one, which is used.

    Source: criterion.rs, src/analysis/compare.rs and `Criterion::default` (`noise_threshold` 0.01,
    `significance_level` 0.05, `confidence_level` 0.95).
    """
    a, b = base.ravel(), now.ravel()
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    if error > 0 and math.erfc(abs(b.mean() - a.mean()) / error / math.sqrt(2)) >= 0.05:
        return False
    change = b[_resamples(b.size)].mean(axis=1) / a[_resamples(a.size)[::-1]].mean(axis=1) - 1
    return bool(np.quantile(change, 0.025) > 0.01)


def mann_whitney(a: Samples, b: Samples, *, continuity: float) -> tuple[float, bool]:
    """Compute the two-sided p of the U test by its normal approximation with ties, and whether b is higher."""
    both = np.sort(np.concatenate([a, b]))
    sorted_a = np.sort(a)
    below = np.searchsorted(sorted_a, b, "left").sum()
    not_above = np.searchsorted(sorted_a, b, "right").sum()
    u = (below + not_above) / 2
    n = both.size
    _, counts = np.unique(both, return_counts=True)
    ties = float((counts.astype(float) ** 3 - counts).sum())
    variance = a.size * b.size / 12 * (n + 1 - ties / (n * (n - 1)))
    middle = a.size * b.size / 2
    if variance <= 0:
        return 1.0, False
    z = (abs(u - middle) - continuity) / math.sqrt(variance)
    return min(1.0, math.erfc(z / math.sqrt(2))), bool(u > middle)


def google_benchmark(base: Samples, now: Samples) -> bool:
    """Google Benchmark's compare.py: U test at 5 % over the repetitions, each the mean of its iterations.

    Its output colours the p value; a p below 0.05 with a longer time is what users gate on.

    Source: google/benchmark, tools/gbench/report.py, `calc_utest`.
    """
    p, higher = mann_whitney(base.mean(axis=1), now.mean(axis=1), continuity=0.5)
    return higher and p < 0.05


def asv(base: Samples, now: Samples) -> bool:
    """Asv: U test at 0.2 % over the samples, and the median more than 10 % higher (its default factor 1.1).

    Source: airspeed-velocity/asv, asv/statistics.py, `is_different`, and asv/commands/compare.py.
    """
    a, b = base.ravel(), now.ravel()
    p, higher = mann_whitney(a, b, continuity=0.0)
    return higher and p < 0.002 and bool(np.median(b) > 1.1 * np.median(a))


RULES: Mapping[str, Rule] = {
    "pytest-benchmark min:5%": functools.partial(_beyond_5_percent, np.min),
    "pytest-benchmark median:5%": functools.partial(_beyond_5_percent, np.median),
    "pytest-benchmark mean:5%": functools.partial(_beyond_5_percent, np.mean),
    "pyperf t-test": pyperf_t_test,
    "Criterion": criterion,
    "Google Benchmark U-test": google_benchmark,
    "asv": asv,
}
"""Every peer's rule by its name."""
