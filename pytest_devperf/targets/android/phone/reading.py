"""The readings of all of a phone's sensors, taken in one round trip."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_devperf.sensor.android.battery import BatteryReading, parse_battery
from pytest_devperf.sensor.android.clock import CLOCK_SCRIPT, ClockReading, capped, parse_clocks
from pytest_devperf.sensor.android.power import PowerReading, parse_power
from pytest_devperf.sensor.android.thermal import ThermalReading, parse_thermalservice
from pytest_devperf.sensor.batch import Batch, format_batch, split_batch
from pytest_devperf.sensor.context import Context, CpuSet
from pytest_devperf.sensor.host.cpus import format_cpu_list, parse_allowed
from pytest_devperf.sensor.proc import CpuTimes, parse_cpu_times, parse_meminfo
from pytest_devperf.sensor.zone import ZONE_SCRIPT, parse_zones

READ_LOAD = 'read -r line </proc/stat; echo "$line"'
"""Prints the line `cpu`; the shell reads it itself, without a process."""

PROBES: Mapping[str, str] = {
    "load": READ_LOAD,
    "thermal": "dumpsys thermalservice",
    "battery": "dumpsys battery",
    "clocks": CLOCK_SCRIPT,
    "zones": ZONE_SCRIPT,
    "power": "dumpsys power | grep -E 'mWakefulness=|mSettingBatterySaverEnabled=|mLowPowerModeEnabled='",
    "memory": "grep -E '^Mem(Total|Available):' /proc/meminfo",
    "cpus": "grep Cpus_allowed_list /proc/self/status",
    "load_after": READ_LOAD,
}
"""Name -> shell text. Only three lines of `dumpsys power` are sent: the whole output is 100 KB. The CPU times are read
first and last, so that the work of the reading counts in no interval between two readings.
"""

MIN_TICKS = 10
"""Fewest clock ticks of all CPUs for a percentage: one tick (10 ms) is then a tenth."""

IDLE_SAMPLE_S = 0.5
"""Length of the idle sample before a run: 400 ticks on eight CPUs."""

PROCESSORS = re.compile(r"cpu|gpu|npu|tpu|cluster|\b(big|mid|little)\b|isolate", re.IGNORECASE)
"""Names of cooling devices that act on processors (kernel drivers/thermal: cpufreq_cooling, devfreq_cooling; Qualcomm's
cpu-isolate)."""

POWER_PLANS: Mapping[bool | None, str | None] = {None: None, True: "battery saver", False: "normal"}
"""Whether the battery saver is on -> name of the power plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneReading:
    """All sensors of one reading, each with its own values."""

    thermal: ThermalReading
    battery: BatteryReading
    clocks: ClockReading
    power: PowerReading
    zones_c: Mapping[str, float] = field(default_factory=dict)
    free_ram_mb: float | None = None
    used_ram_mb: float | None = None
    load: CpuTimes | None = None
    """CPU times when the reading began."""
    load_after: CpuTimes | None = None
    """CPU times when it ended."""
    idle: CpuTimes | None = None
    """CPU times at the beginning of an idle sample that ended when the reading began."""
    cpus: tuple[int, ...] | None = None
    """CPUs that a workload may use; None if they are not known."""


SCRIPT = format_batch(PROBES)

BRIEF = format_batch({name: PROBES[name] for name in ("load", "thermal", "battery", "clocks", "memory", "load_after")})
"""Read after every round: load, temperature and throttling, in half the time of a full reading."""

IDLE = format_batch({"idle": f"{READ_LOAD}; sleep {IDLE_SAMPLE_S}", **PROBES})
"""Read before a run: everything, after a moment in which the phone is left alone."""


def parse_sensors(text: str) -> PhoneReading | None:
    """Parse the output of `SCRIPT`, `BRIEF` or `IDLE`; None if it was cut off."""
    batch = split_batch(text, ("idle", *PROBES))
    return _seen(batch) if batch.complete else None


def _seen(batch: Batch) -> PhoneReading:
    memory = parse_meminfo(batch.text("memory"))
    return PhoneReading(
        thermal=parse_thermalservice(batch.text("thermal")),
        battery=parse_battery(batch.text("battery")),
        clocks=parse_clocks(batch.text("clocks")),
        power=parse_power(batch.text("power")),
        zones_c=parse_zones(batch.text("zones")),
        free_ram_mb=_rounded(memory.available_mb),
        used_ram_mb=_rounded(memory.used_mb),
        load=parse_cpu_times(batch.text("load")),
        load_after=parse_cpu_times(batch.text("load_after")),
        idle=parse_cpu_times(batch.text("idle")),
        cpus=parse_allowed(batch.text("cpus")),
    )


def used_percent(before: CpuTimes | None, after: CpuTimes | None) -> float | None:
    """Calculate the load of all CPUs between two reads; None if one is missing or the interval is too short.

    >>> used_percent(CpuTimes(busy=10, total=100), CpuTimes(busy=40, total=200))
    30.0
    """
    if before is None or after is None or after.total - before.total < MIN_TICKS:
        return None
    return round(min(100.0, max(0.0, 100 * (after.busy - before.busy) / (after.total - before.total))), 1)


def cpu_percent(seen: PhoneReading, before: PhoneReading | None) -> float | None:
    """Calculate the load of all CPUs since the previous reading, or in the idle sample if there is one."""
    since = seen.idle if seen.idle is not None else before.load_after if before is not None else None
    return used_percent(since, seen.load)


def most_used_mb(seen: PhoneReading, least_free_bytes: int | None) -> float | None:
    """Calculate the most memory in use, from the least free memory meanwhile and a reading at the end."""
    if seen.used_ram_mb is None or seen.free_ram_mb is None or least_free_bytes is None:
        return seen.used_ram_mb
    return max(seen.used_ram_mb, round(seen.used_ram_mb + seen.free_ram_mb - least_free_bytes / 1e6, 1))


def _rounded(size_mb: float | None) -> float | None:
    return None if size_mb is None else round(size_mb, 1)


def deciding_c(seen: PhoneReading) -> float | None:
    """Return the decisive temperature: the skin's if the phone shows it, otherwise the battery's.

    The die cools by 20 °C in 90 s after a load; skin and battery show how much heat is still in the phone.
    """
    skin = seen.thermal.hottest_c("skin") if seen.thermal.state == "value" else None
    if skin is not None:
        return skin
    if seen.battery.state == "value" and seen.battery.temp_c is not None:
        return seen.battery.temp_c
    return seen.thermal.hottest_c("battery") if seen.thermal.state == "value" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The phone's state when the session began, with its clocks pinned: later readings are judged against it."""

    max_khz: Mapping[str, int] = field(default_factory=dict)
    """Caps by policy. A cap alone shows nothing: some vendors' idle default is below the hardware's highest clock."""
    cooling: Mapping[str, int] = field(default_factory=dict)
    """Cooling devices by name. A value alone shows nothing: some are always at 100."""


def reference_of(seen: PhoneReading) -> Reference:
    """Keep the values of a reading that later readings are judged against."""
    return Reference(max_khz=seen.clocks.max_khz, cooling=cooling_of(seen))


def cooling_of(seen: PhoneReading) -> dict[str, int]:
    """Collect the cooling devices that slow processors down; those of a modem or charger do not matter."""
    if seen.thermal.state != "value":
        return {}
    return {name: value for name, value in seen.thermal.cooling.items() if PROCESSORS.search(name)}


def throttles(seen: PhoneReading, start: Reference) -> bool | None:
    """Check whether the phone throttles.

    It throttles if its thermal service reports so, or if a clock's cap is lower, or a processor's cooling device is
    more active, than when the session began. The service alone is not enough: some vendors cap without a report.
    """
    reported = seen.thermal.throttled
    caps_known = bool(start.max_khz) and seen.clocks.state == "value"
    if reported or is_cooled_more(seen, start) or (caps_known and capped(start.max_khz, seen.clocks.max_khz)):
        return True
    return reported


def is_cooled_more(seen: PhoneReading, start: Reference) -> bool:
    """Check whether a processor's cooling device is more active than at the start: heat then explains a lower cap."""
    return any(value > start.cooling.get(name, value) for name, value in cooling_of(seen).items())


def make_context(
    seen: PhoneReading,
    *,
    at_ns: int,
    before: PhoneReading | None,
    start: Reference,
) -> Context:
    """Convert a reading to a context, without what only the session knows.

    Args:
        seen: The reading.
        at_ns: Its time on the session's clock.
        before: The previous reading, for values that need a difference.
        start: The phone's state when the session began.
    """
    return Context(
        at_ns=at_ns,
        cpu_set=CpuSet(cpus=format_cpu_list(seen.cpus), usable=float(len(seen.cpus))) if seen.cpus else None,
        temp_c=deciding_c(seen),
        temps_c=_temps_c(seen),
        throttled=throttles(seen, start),
        cur_khz=seen.clocks.cur_khz,
        max_khz=seen.clocks.max_khz,
        governor=seen.clocks.governor,
        power_state=seen.battery.power_state,
        power_plan=POWER_PLANS[seen.power.battery_saver],
        charging=seen.battery.charging,
        battery_pct=seen.battery.level_pct,
        charge_uah=seen.battery.charge_counter_uah,
        voltage_mv=seen.battery.voltage_mv,
        cpu_pct=cpu_percent(seen, before),
        free_ram_mb=seen.free_ram_mb,
        used_ram_mb=seen.used_ram_mb,
        faked="faked" in (seen.thermal.state, seen.battery.state),
        settled=None if before is None else seen.battery.temp_c != before.battery.temp_c,
        notes=_notes(seen),
    )


def _temps_c(seen: PhoneReading) -> dict[str, float]:
    """Collect all temperatures by sensor; those of the thermal service precede those of the zones."""
    temps_c = {**seen.zones_c, **(seen.thermal.temps_c if seen.thermal.state == "value" else {})}
    if seen.battery.temp_c is not None and seen.battery.state == "value":
        temps_c.setdefault("battery", seen.battery.temp_c)
    return temps_c


def _notes(seen: PhoneReading) -> tuple[str, ...]:
    whys = {
        "thermalservice": seen.thermal.why,
        "battery": seen.battery.why,
        "clocks": seen.clocks.why,
        "power": seen.power.why,
    }
    notes = [f"{name}: {why}" for name, why in whys.items() if why]
    if seen.power.awake is False:
        notes.append(f"the screen is off ({seen.power.wakefulness})")
    return tuple(notes)
