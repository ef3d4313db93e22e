"""The parsed output of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_devperf.metric import Better


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number printed by a tool that is not the time of an iteration."""

    value: float
    unit: str
    better: Better = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Samples and values from one start of a tool."""

    samples_ns: tuple[float, ...] = ()
    """Time of each iteration; a tool that prints only an average has one."""
    load_ns: float | None = None
    """Time that the tool took to load its workload."""
    series_ns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Times by name, for a tool that measures several things."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Other numbers by name."""
    peak_bytes: int | None = None
    """Peak memory, if the tool prints it."""
