"""Statistics of a benchmark by the names and definitions of pytest-benchmark, in seconds.

Suites assert on them after the call. Verdicts of this package never use them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

FIELDS = (
    "min",
    "max",
    "mean",
    "stddev",
    "rounds",
    "median",
    "iqr",
    "q1",
    "q3",
    "iqr_outliers",
    "stddev_outliers",
    "outliers",
    "ld15iqr",
    "hd15iqr",
    "ops",
    "total",
)
"""Names of all statistics, in the order of pytest-benchmark's documents."""

TUKEY = 1.5
"""Multiples of the IQR beyond the quartiles from which a value is an outlier."""


class Stats:
    """Statistics of samples.

    Source: pytest-benchmark, `Stats`; its quartiles are methods 2 (an even number of samples) and 3 (an odd one) of
    https://en.wikipedia.org/wiki/Quartile#Computing_methods.
    """

    fields = FIELDS

    def __init__(self, data: Sequence[float]) -> None:
        """Take the samples in seconds, in the order in which they were measured."""
        self.data = list(data)

    def __bool__(self) -> bool:
        """Return whether there are samples."""
        return bool(self.data)

    def as_dict(self) -> dict[str, Any]:
        """Return every statistic by its name."""
        return {field: getattr(self, field) for field in FIELDS}

    @cached_property
    def sorted_data(self) -> list[float]:
        """The samples in ascending order."""
        return sorted(self.data)

    @property
    def min(self) -> float:
        """The shortest sample."""
        return self.sorted_data[0]

    @property
    def max(self) -> float:
        """The longest sample."""
        return self.sorted_data[-1]

    @property
    def total(self) -> float:
        """The sum of all samples."""
        return sum(self.data)

    @property
    def rounds(self) -> int:
        """The number of samples."""
        return len(self.data)

    @cached_property
    def mean(self) -> float:
        """The arithmetic mean."""
        return statistics.mean(self.data)

    @cached_property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.data)

    @cached_property
    def stddev(self) -> float:
        """The standard deviation of the sample; 0 for a single one."""
        return statistics.stdev(self.data) if self.rounds > 1 else 0

    @property
    def q1(self) -> float:
        """The first quartile."""
        return _quartile(self.sorted_data)

    @property
    def q3(self) -> float:
        """The third quartile."""
        return -_quartile([-value for value in reversed(self.sorted_data)])

    @property
    def iqr(self) -> float:
        """The distance of the quartiles."""
        return self.q3 - self.q1

    @property
    def stddev_outliers(self) -> int:
        """How many samples are further than a standard deviation from the mean."""
        return self._outside(self.mean - self.stddev, self.mean + self.stddev)

    @property
    def iqr_outliers(self) -> int:
        """How many samples are beyond Tukey's fences."""
        return self._outside(*self._fences)

    @property
    def outliers(self) -> str:
        """Both numbers of outliers."""
        return f"{self.stddev_outliers};{self.iqr_outliers}"

    @property
    def ld15iqr(self) -> float:
        """The lowest sample within Tukey's fences."""
        return min(self._within(*self._fences))

    @property
    def hd15iqr(self) -> float:
        """The highest sample within Tukey's fences."""
        return max(self._within(*self._fences))

    @property
    def ops(self) -> float:
        """Operations per second."""
        return self.rounds / self.total if self.total else 0

    @property
    def _fences(self) -> tuple[float, float]:
        return self.q1 - TUKEY * self.iqr, self.q3 + TUKEY * self.iqr

    def _within(self, lowest: float, highest: float) -> Iterable[float]:
        return (value for value in self.data if lowest <= value <= highest)

    def _outside(self, lowest: float, highest: float) -> int:
        return self.rounds - sum(1 for _ in self._within(lowest, highest))


def _quartile(ascending: Sequence[float]) -> float:
    """Return the first quartile: the median of the lower half, or a weighted mean of two neighbours.

    >>> _quartile([1, 2, 3, 4]), _quartile([1, 2, 3, 4, 5]), _quartile([1, 2, 3]), _quartile([1])
    (1.5, 1.75, 1.25, 1)
    """
    count = len(ascending)
    if count == 1:
        return ascending[0]
    if count % 2 == 0:
        return statistics.median(ascending[: count // 2])
    whole, rest = divmod(count, 4)
    if rest == 1:
        return 0.25 * ascending[whole - 1] + 0.75 * ascending[whole]
    return 0.75 * ascending[whole] + 0.25 * ascending[whole + 1]


class Metadata:
    """What `benchmark.stats` is after the call: the statistics, and what they belong to."""

    def __init__(self, data: Sequence[float], iterations: int, facts: dict[str, Any]) -> None:
        """Describe a benchmark.

        Args:
            data: Its samples in seconds per call.
            iterations: Calls in each sample.
            facts: `name`, `fullname`, `group`, `param`, `params`, `extra_info`.
        """
        self.stats = Stats(data)
        self.iterations = iterations
        self.options: dict[str, Any] = {"disable_gc": True}
        self._facts = facts

    def __bool__(self) -> bool:
        """Return whether there are samples."""
        return bool(self.stats)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - facts are of many types
        """Return a fact of the benchmark."""
        facts = self.__dict__.get("_facts", {})
        if name not in facts:
            raise AttributeError(name)
        return facts[name]

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - as above
        """Return a statistic or a fact."""
        return getattr(self.stats, key) if hasattr(self.stats, key) else getattr(self, key)

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - as above
        """Return a statistic or a fact, or something else if there is none."""
        return getattr(self.stats, key) if hasattr(self.stats, key) else getattr(self, key, default)

    def as_dict(self, *, include_data: bool = True, flat: bool = False, stats: bool = True) -> dict[str, Any]:
        """Return everything as plain data, statistics under `stats` or beside the facts."""
        result = {**self._facts, "options": dict(self.options)}
        if stats:
            found = {**self.stats.as_dict(), "iterations": self.iterations}
            if include_data:
                found["data"] = self.stats.data
            result.update(found if flat else {"stats": found})
        return result
