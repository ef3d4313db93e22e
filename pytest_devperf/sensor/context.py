"""Sensor readings at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSet:
    """CPUs that the measured process may use."""

    cpus: str
    """CPUs that the process is bound to, in the kernel's format: `0-3,6`."""
    usable: float
    """CPUs that it may keep busy: their number, or a container's quota if that is lower."""
    layout: str | None = None
    """Their cores and threads: `4 cores of 2 threads`. Sets with equal descriptions are equivalent."""

    @property
    def words(self) -> str:
        """The number of CPUs and their indices, for messages.

        >>> CpuSet(cpus="0-3,6", usable=1.5).words, CpuSet(cpus="2", usable=1).words
        ('1.5 CPUs (of 0-3,6)', '1 CPU (2)')
        """
        spans = (part.partition("-") for part in self.cpus.split(","))
        number = sum(int(high or low) - int(low) + 1 for low, _, high in spans)
        of = "of " if self.usable < number else ""
        return f"{self.usable:g} CPU{'' if self.usable == 1 else 's'} ({of}{self.cpus})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Readings of all sensors at one moment; None is *not known*, never a number in its place."""

    at_ns: int
    """Time of the reading, by the session's clock."""
    temp_c: float | None = None
    """The temperature used for decisions (package on a host, skin or battery on a phone)."""
    temps_c: Mapping[str, float] = field(default_factory=dict)
    """Every plausible temperature by sensor name."""
    sensors_c: Mapping[str, float] = field(default_factory=dict)
    """Readings of sensors added by plugins, by name."""
    throttled: bool | None = None
    """Whether the device reports that it is throttling now."""
    throttle_count: int | None = None
    """A counter that rises only while the device throttles."""
    cur_khz: Mapping[str, int] = field(default_factory=dict)
    """Current clock of each policy."""
    max_khz: Mapping[str, int] = field(default_factory=dict)
    """Highest allowed clock of each policy now."""
    governor: str | None = None
    """Frequency governors, joined with commas."""
    cpu_set: CpuSet | None = None
    pinned: bool | None = None
    """Whether this plugin pins the clocks; False on a host."""
    power_state: str | None = None
    """`AC` or `battery`."""
    power_plan: str | None = None
    """Power plan or platform profile."""
    charging: bool | None = None
    battery_pct: float | None = None
    charge_uah: int | None = None
    """Charge left in the battery, by its own counter."""
    voltage_mv: int | None = None
    """Voltage of the battery."""
    cpu_pct: float | None = None
    """CPU use of all processes on all cores since the previous look."""
    stolen_pct: float | None = None
    """Share of CPU time since the previous look that a hypervisor gave to others (steal)."""
    free_ram_mb: float | None = None
    used_ram_mb: float | None = None
    """Memory in use: by the measuring process on a host, by the whole device on a phone."""
    pressure_cpu_pct: float | None = None
    """Share of the last 10 s in which at least one task waited for a CPU (PSI)."""
    adapter_util_pct: float | None = None
    """Utilization of the GPU or NPU."""
    device_mem_local_mb: float | None = None
    device_mem_shared_mb: float | None = None
    faked: bool = False
    """Whether somebody overrides a sensor (`UPDATES STOPPED`)."""
    settled: bool | None = None
    """Whether the battery temperature was refreshed since the previous look (phones)."""
    anchor: str | None = None
    """Identity of the anchor kernel: kernel, interpreter, library versions."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Software facts: `os`, `driver`, `ep`, `sdk`, `python`."""
    notes: tuple[str, ...] = ()
    """Answers that could not be read, verbatim."""
