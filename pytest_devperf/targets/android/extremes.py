"""What is sampled on a phone beside a run, and what a look after it makes of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_devperf.targets.protocol import RoundContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Extremes:
    """The worst that was sampled while something ran."""

    caps_khz: Mapping[str, int] = field(default_factory=dict)
    """Lowest frequency cap of each policy."""
    free_bytes: int | None = None
    """Least memory that was available."""


Surround = Callable[[Extremes], RoundContext]
"""Describes what surrounded a run, from what was sampled meanwhile and a look right after it."""
