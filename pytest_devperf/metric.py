"""What is counted, in which unit, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeGuard

Better = Literal["lower", "higher"]

Kind = Literal["rounds", "start", "memory", "recorded"]
"""How the values of a metric come about.

`rounds`: timed iterations in rounds. `start`: one time per process start (a load). `memory`: one
size per process start. `recorded`: values the test hands over itself.
"""

LATENCY = "latency"
"""The time metric of a plain call; a named second call is `latency.<name>`."""

EXECUTE = "execute"
"""The time metric of a model's own execution; always followed by its method, `execute.forward`."""

LOAD = "load"
FIRST_LOAD = "first_load"
LOADED_MEMORY = "loaded_memory"
PEAK_MEMORY = "peak_memory"
LEAKED_MEMORY = "leaked_memory"

ENERGY = "energy"

TOLD_ONLY = frozenset({FIRST_LOAD, LEAKED_MEMORY, ENERGY})
"""Metrics that are told and never compared: cold caches, a leak's sign and a battery's counter are too noisy."""

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
BYTES_PER_MIB = 1_048_576

SHORTEST_NS = 1e-6
"""Shortest duration that is believed. Light moves 0.3 µm in it: no inner loop divides a call so far."""

LONGEST_NS = 1e15
"""Longest duration that is believed: 11 days, more than any session takes."""

LONGEST_S = 366 * 86_400.0
"""Longest wait or budget that can be asked for: a year."""

LARGEST_VALUE = 1e100
"""Largest recorded value that is believed, and one over it the smallest: their squares and ratios are still finite."""

MOST_BYTES = 1 << 60
"""Largest size that is believed: no machine has an exbibyte of memory."""


def is_duration_ns(value: object) -> TypeGuard[float]:
    """Tell whether a value can be a measured duration in ns.

    >>> is_duration_ns(1200), is_duration_ns(0), is_duration_ns(1e300), is_duration_ns(True)
    (True, False, False, False)
    """
    return _is_number(value) and SHORTEST_NS <= value <= LONGEST_NS


def is_recorded_value(value: object) -> TypeGuard[float]:
    """Tell whether a value can be a recorded one: zero, or a number whose size is no accident.

    >>> is_recorded_value(-12.5), is_recorded_value(0), is_recorded_value(1e300), is_recorded_value(float("nan"))
    (True, True, False, False)
    """
    return _is_number(value) and (value == 0 or 1 / LARGEST_VALUE <= abs(value) <= LARGEST_VALUE)


def is_size_bytes(value: object) -> TypeGuard[float]:
    """Tell whether a value can be a size in bytes."""
    return _is_number(value) and 0 <= value <= MOST_BYTES


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The name, unit and direction of one series of values."""

    name: str
    """`latency`, `latency.decode`, `execute.forward`, `load`, `peak_memory`, or a recorded name."""
    unit: str
    """Unit of the values shown: `ms` for every time, `MiB` for every size."""
    better: Better = "lower"
    """Which way is an improvement."""
    kind: Kind = "rounds"
    """How the values come about."""

    @property
    def family(self) -> str:
        """The part of the name before the first dot; a tolerance may name it."""
        return self.name.partition(".")[0]


def time_metric(name: str) -> Metric:
    """Name a metric made of timed rounds."""
    return Metric(name=name, unit="ms")


def start_metric(name: str) -> Metric:
    """Name a metric with one time per process start."""
    return Metric(name=name, unit="ms", kind="start")


def energy_metric() -> Metric:
    """Name the energy drawn from the battery per iteration, rests between rounds included."""
    return Metric(name=ENERGY, unit="mJ", kind="recorded")


def memory_metric(name: str) -> Metric:
    """Name a metric with one size per process start."""
    return Metric(name=name, unit="MiB", kind="memory")
