"""Readings at one moment, and what a run's readings come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SOFTWARE = ("os", "driver", "ep", "sdk", "python")
"""Facts of software that every run context holds, null where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSet:
    """CPUs that the measured process may use."""

    cpus: str
    """Those it is bound to, as the kernel writes them: `0-3,6`."""
    usable: float
    """How many it may keep busy: their number, or a container's quota if that is less."""
    layout: str | None = None
    """What they are made of: `4 cores of 2 threads`. Sets of the same words are alike."""

    @property
    def words(self) -> str:
        """The number and which, as people say it.

        >>> CpuSet(cpus="0-3,6", usable=1.5).words, CpuSet(cpus="2", usable=1).words
        ('1.5 CPUs (of 0-3,6)', '1 CPU (2)')
        """
        spans = (part.partition("-") for part in self.cpus.split(","))
        number = sum(int(high or low) - int(low) + 1 for low, _, high in spans)
        of = "of " if self.usable < number else ""
        return f"{self.usable:g} CPU{'' if self.usable == 1 else 's'} ({of}{self.cpus})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the sensors said in one look; None is *not known*, never a number in its place."""

    at_ns: int
    """When, by the session's clock."""
    temp_c: float | None = None
    """The temperature that decides (package on a host, skin or battery on a phone)."""
    temps_c: Mapping[str, float] = field(default_factory=dict)
    """Every plausible temperature by sensor name."""
    sensors_c: Mapping[str, float] = field(default_factory=dict)
    """What sensors of plugins read, by name."""
    throttled: bool | None = None
    """Whether the device says it is throttling now."""
    throttle_count: int | None = None
    """A counter that only rises while throttling; a rise between two looks is throttling."""
    cur_khz: Mapping[str, int] = field(default_factory=dict)
    """Clock of each policy now."""
    max_khz: Mapping[str, int] = field(default_factory=dict)
    """Highest clock each policy is allowed now."""
    governor: str | None = None
    """Frequency governor; several are joined with commas."""
    cpu_set: CpuSet | None = None
    pinned: bool | None = None
    """Whether clocks are held by us; False on a host."""
    power_state: str | None = None
    """`AC` or `battery`."""
    power_plan: str | None = None
    """Power plan or platform profile."""
    charging: bool | None = None
    battery_pct: float | None = None
    charge_uah: int | None = None
    """Charge left in the battery by its own counter."""
    voltage_mv: int | None = None
    """Voltage of the battery."""
    cpu_pct: float | None = None
    """CPU used by everything since the last look, of all cores."""
    stolen_pct: float | None = None
    """Share of CPU time since the last look that a hypervisor gave to others (steal)."""
    free_ram_mb: float | None = None
    used_ram_mb: float | None = None
    """Memory in use: of the measuring process on a host, of the whole device on a phone."""
    pressure_cpu_pct: float | None = None
    """Share of the last 10 s in which some task waited for a CPU (PSI)."""
    adapter_util_pct: float | None = None
    """Use of the GPU or NPU."""
    device_mem_local_mb: float | None = None
    device_mem_shared_mb: float | None = None
    faked: bool = False
    """Whether a sensor was overridden by somebody (`UPDATES STOPPED`)."""
    settled: bool | None = None
    """Whether the battery temperature was refreshed since the last look, on a phone."""
    anchor: str | None = None
    """Identity of the anchor kernel: kernel, interpreter, library versions."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Facts of software: `os`, `driver`, `ep`, `sdk`, `python`."""
    notes: tuple[str, ...] = ()
    """What could not be read, in its raw words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockState:
    """What the clocks were allowed to do."""

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
    """Share of wall time in which the measuring thread waited for a CPU; the worst round."""
    pressure_cpu_pct: float | None = None
    stolen_pct: float | None = None
    """Share of CPU time that a hypervisor gave to others; the worst time between two looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What a run's looks come to: start, end, and the worst in between. Spelt as stored."""

    temp_start_c: float | None = None
    temp_end_c: float | None = None
    temp_max_c: float | None = None
    sensors_max_c: Mapping[str, float] = field(default_factory=dict)
    """The highest temperature of every sensor that a plugin added, by name."""
    throttled: bool | None = None
    clock_state: ClockState = field(default_factory=ClockState)
    cpu_set: CpuSet | None = None
    """The least that any look saw."""
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
    """Whether a sensor was overridden by somebody in any look."""
    notes: tuple[str, ...] = ()
