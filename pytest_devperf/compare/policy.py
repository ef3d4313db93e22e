"""The policy of a comparison: tolerances, rules and accepted cautions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Rule = Literal["proven", "iqr"]
Iqr = Literal["undisturbed", "within", "pooled"]

DEFAULT_TOLERANCE = {"rounds": 0.02, "start": 0.35, "memory": 0.03, "recorded": 0.0, "counted": 0.005}
"""Relative floor of the threshold by kind of metric.

2 %: the spread of process starts on a quiet machine. 35 %: loads read files and compile, and have few values.
3 %: allocators round sizes. 0: a recorded value has no noise. 0.5 %: where things lie in memory moves counts of
unchanged code by hardly more.
"""

MEMORY_FLOOR_MIB = 1.0
"""Absolute floor of a memory threshold: allocators and the kernel's page cache vary by less."""


MOST_TOLERANCE_PCT = 100_000.0
"""Largest tolerance: code that became a thousand times slower is always reported."""

_TOLERANCE = re.compile(r"(?:(?P<metric>[^=\s]+)=)?(?P<percent>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*%")


def parse_tolerance(text: str) -> tuple[str, float]:
    """Parse `X%` or `METRIC=X%` into a metric name (`*` for all) and a fraction.

    >>> parse_tolerance("load=40%"), parse_tolerance("2.5%")
    (('load', 0.4), ('*', 0.025))

    Raises:
        ValueError: It has another format (the percent sign is required), or is implausibly large.
    """
    match = _TOLERANCE.fullmatch(text.strip())
    if match is None:
        raise ValueError("write X% or METRIC=X%, with the % sign")
    percent = float(match["percent"])
    if percent > MOST_TOLERANCE_PCT:
        raise ValueError(f"must be at most {MOST_TOLERANCE_PCT:g}%: a larger one lets everything pass")
    return match["metric"] or "*", percent / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policy of a comparison; values are fractions, not percent."""

    tolerance: Mapping[str, float] = field(default_factory=dict)
    """Relative tolerance by metric name, by family (`latency`), or `*`; the longest name takes precedence."""
    rule: Rule = "proven"
    iqr: Iqr = "undisturbed"
    """Which IQR is the run's own. `undisturbed`: that of the faster half of the calmest rounds, with centres of the
    faster halves. The others use all iterations of a round and their median."""
    confirm: bool = True
    """Whether a suspect is measured again before it fails."""
    anchor: bool = True
    """Whether to use the anchor kernel."""
    accept: frozenset[str] = frozenset()
    """Refusing cautions that are accepted, one by one."""
    strict_context: bool = False
    """Whether every refusing caution refuses on a host as well."""
    blind: float = 0.25
    """Change that a comparison must have been able to detect for a verdict of within noise."""
    metrics: int = 1
    """Number of metrics judged together; they share the chance of a false alarm."""
    hot_start_c: float = 10.0
    """Difference of start temperatures that makes runs incomparable."""
