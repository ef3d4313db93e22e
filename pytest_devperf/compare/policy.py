"""What a comparison is strict about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Rule = Literal["proven", "iqr"]
Iqr = Literal["undisturbed", "within", "pooled"]

DEFAULT_TOLERANCE = {"rounds": 0.02, "start": 0.35, "memory": 0.03, "recorded": 0.0}
"""Relative floor of the threshold by kind of metric.

2 %: the spread of process starts on a quiet machine. 35 %: loads read files and compile, few values.
3 %: allocators round. 0: a recorded value is what the test says it is.
"""

MEMORY_FLOOR_MIB = 1.0
"""Absolute floor of a memory threshold: allocators and the kernel's page cache move by less."""


MOST_TOLERANCE_PCT = 100_000.0
"""Largest tolerance: what became a thousand times slower is reported, whatever the tolerance."""

_TOLERANCE = re.compile(r"(?:(?P<metric>[^=\s]+)=)?(?P<percent>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*%")


def parse_tolerance(text: str) -> tuple[str, float]:
    """Read `X%` or `METRIC=X%` into a metric name (`*` for all) and a fraction.

    >>> parse_tolerance("load=40%"), parse_tolerance("2.5%")
    (('load', 0.4), ('*', 0.025))

    Raises:
        ValueError: It is spelt otherwise (the percent sign is required), or absurdly large.
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
    """What a comparison is strict about, in fractions, not percent."""

    tolerance: Mapping[str, float] = field(default_factory=dict)
    """Relative tolerance by metric name, by family (`latency`), or `*`; the longest name wins."""
    rule: Rule = "proven"
    iqr: Iqr = "undisturbed"
    """Which IQR is the run's own. `undisturbed`: of the faster half of the calmest rounds, and centres are those of
    faster halves; the others take all iterations of a round, and their median."""
    confirm: bool = True
    """Whether a suspect is measured again before it fails."""
    anchor: bool = True
    """Whether the anchor kernel is used."""
    accept: frozenset[str] = frozenset()
    """Refusing cautions that are accepted, one by one."""
    strict_context: bool = False
    """On a host too, every refusing caution refuses."""
    blind: float = 0.25
    """Change that a comparison must have been able to find to call a case within noise."""
    metrics: int = 1
    """Metrics that are judged together; they share the chance of any false alarm."""
    hot_start_c: float = 10.0
    """Start temperatures further apart than this are another state."""
