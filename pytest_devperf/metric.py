"""What is counted, in which unit, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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

NS_PER_MS = 1_000_000
BYTES_PER_MIB = 1_048_576


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
