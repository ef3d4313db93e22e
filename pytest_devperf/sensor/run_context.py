"""The summary of a run's sensor readings.

No process start needs it, so it is not beside `Context`: fresh interpreters do not import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_devperf.sensor.context import CpuSet

SOFTWARE = ("os", "driver", "ep", "sdk", "python")
"""Software facts that every run context contains, null if not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockState:
    """The allowed clocks during a run."""

    pinned: bool | None = None
    max_khz: Mapping[str, int] = field(default_factory=dict)
    governor: str | None = None
    power_plan: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class During:
    """Load while rounds ran."""

    mean_cpu_pct: float | None = None
    peak_cpu_pct: float | None = None
    peak_ram_mb: float | None = None
    adapter_util_pct: float | None = None
    device_mem_local_mb: float | None = None
    device_mem_shared_mb: float | None = None
    waited_pct: float | None = None
    """Share of wall time in which the measuring thread waited for a CPU, in the worst round."""
    pressure_cpu_pct: float | None = None
    stolen_pct: float | None = None
    """Share of CPU time that a hypervisor gave to others, at its worst between two looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """Summary of a run's looks: start, end, and the worst value between. Field names are those of the document."""

    temp_start_c: float | None = None
    temp_end_c: float | None = None
    temp_max_c: float | None = None
    sensors_max_c: Mapping[str, float] = field(default_factory=dict)
    """The highest reading of every sensor added by a plugin, by name."""
    throttled: bool | None = None
    clock_state: ClockState = field(default_factory=ClockState)
    cpu_set: CpuSet | None = None
    """The smallest set that any look reported."""
    power_state: str | None = None
    battery_pct: float | None = None
    charging: bool | None = None
    prerun_cpu_pct: float | None = None
    prerun_free_ram_mb: float | None = None
    during: During = field(default_factory=During)
    env: Mapping[str, str | None] = field(default_factory=lambda: dict.fromkeys(SOFTWARE))
    anchor: str | None = None
    comparable_to_baseline: bool | None = None
    faked: bool = False
    """Whether any look found a sensor that somebody overrides."""
    notes: tuple[str, ...] = ()
