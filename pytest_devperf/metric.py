"""Metrics: their names, units and directions, and the bounds of plausible values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeGuard

Better = Literal["lower", "higher"]

Kind = Literal["rounds", "start", "memory", "recorded", "counted"]
"""How the values of a metric are collected.

`rounds`: timed iterations in rounds. `start`: one time per process start (a load). `memory`: one
size per process start. `recorded`: values that the test passes in. `counted`: instructions, several times in each of
several memory layouts.
"""

LATENCY = "latency"
"""The time metric of a plain call; that of a named second call is `latency.<name>`."""

EXECUTE = "execute"
"""The time metric of a model's execution, always followed by the method: `execute.forward`."""

LOAD = "load"
FIRST_LOAD = "first_load"
LOADED_MEMORY = "loaded_memory"
PEAK_MEMORY = "peak_memory"
LEAKED_MEMORY = "leaked_memory"

ENERGY = "energy"

INSTRUCTIONS = "instructions"
"""The counted metric of a plain call; that of another metric is followed by its name."""

IR = "Ir"
"""Unit of counted instructions: instructions read, as valgrind calls them."""

INFORMATIONAL = frozenset({FIRST_LOAD, LEAKED_MEMORY, ENERGY})
"""Metrics that are reported but not compared: cold caches, the sign of a leak and a battery's counter are too noisy."""

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
BYTES_PER_MIB = 1_048_576

SHORTEST_NS = 1e-6
"""Shortest plausible duration. Light travels 0.3 µm in it: no inner loop divides a call into such small parts."""

LONGEST_NS = 1e15
"""Longest plausible duration: 11 days, longer than any session."""

LONGEST_S = 366 * 86_400.0
"""Longest wait or budget that an option accepts: a year."""

LARGEST_VALUE = 1e100
"""Largest plausible recorded value; its inverse is the smallest. Squares and ratios of both are still finite."""

MOST_BYTES = 1 << 60
"""Largest plausible size: no machine has an exbibyte of memory."""


def is_duration_ns(value: object) -> TypeGuard[float]:
    """Return whether a value is a plausible duration in ns.

    >>> is_duration_ns(1200), is_duration_ns(0), is_duration_ns(1e300), is_duration_ns(True)
    (True, False, False, False)
    """
    return _is_number(value) and SHORTEST_NS <= value <= LONGEST_NS


def is_recorded_value(value: object) -> TypeGuard[float]:
    """Return whether a value is a plausible recorded value: zero, or a number within the bounds.

    >>> is_recorded_value(-12.5), is_recorded_value(0), is_recorded_value(1e300), is_recorded_value(float("nan"))
    (True, True, False, False)
    """
    return _is_number(value) and (value == 0 or 1 / LARGEST_VALUE <= abs(value) <= LARGEST_VALUE)


def is_size_bytes(value: object) -> TypeGuard[float]:
    """Return whether a value is a plausible size in bytes."""
    return _is_number(value) and 0 <= value <= MOST_BYTES


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The name, unit and direction of one series of values."""

    name: str
    """`latency`, `latency.decode`, `execute.forward`, `load`, `peak_memory`, or the name of a recorded value."""
    unit: str
    """Unit of the displayed values: `ms` for every time, `MiB` for every size."""
    better: Better = "lower"
    """Which direction is an improvement."""
    kind: Kind = "rounds"
    """How the values are collected."""

    @property
    def family(self) -> str:
        """The part of the name before the first dot; a tolerance can be given for it."""
        return self.name.partition(".")[0]


def time_metric(name: str) -> Metric:
    """Return a metric of times measured in rounds."""
    return Metric(name=name, unit="ms")


def start_metric(name: str) -> Metric:
    """Return a metric with one time per process start."""
    return Metric(name=name, unit="ms", kind="start")


def energy_metric() -> Metric:
    """Return the metric of the energy drawn from the battery per iteration, including the rests between rounds."""
    return Metric(name=ENERGY, unit="mJ", kind="recorded")


def count_metric(name: str) -> Metric:
    """Return the metric of the instructions of what is timed under a name.

    >>> [count_metric(name).name for name in ("latency", "latency.decode", "execute.forward", "load")]
    ['instructions', 'instructions.decode', 'instructions.execute.forward', 'instructions.load']
    """
    family, _, rest = name.partition(".")
    own = rest if family == LATENCY else name
    return Metric(name=f"{INSTRUCTIONS}.{own}".rstrip("."), unit=IR, kind="counted")


def memory_metric(name: str) -> Metric:
    """Return a metric with one size per process start."""
    return Metric(name=name, unit="MiB", kind="memory")
