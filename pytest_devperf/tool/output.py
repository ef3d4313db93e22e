"""What a tool's output comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_devperf.metric import Better


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number a tool printed that is no time of an iteration."""

    value: float
    unit: str
    better: Better = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Samples and values of one start of a tool."""

    samples_ns: tuple[float, ...] = ()
    """Time of each iteration; a tool that prints only an average gives one."""
    load_ns: float | None = None
    """Cost of bringing its workload up."""
    series_ns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Times of a tool that measures several things, by their names."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Other numbers by name."""
    peak_bytes: int | None = None
    """Peak memory, where the tool prints it."""
