"""Judge the settings and the readings of this machine."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_devperf.doctor.finding import Finding, good, unknown
from pytest_devperf.doctor.host_facts import HostFacts
from pytest_devperf.record.caution import BUSY_CPU_PERCENT
from pytest_devperf.sensor.context import Context

QUIET_CPU_PCT = 5.0
"""CPU use of other programs up to which a machine is quiet: background services of an idle desktop stay below."""

NEAR_LIMIT_C = 15.0
"""Distance to the limit from which a processor may soon be slowed down: it gets 10 °C hotter within seconds."""

STEAL_PCT = 1.0
"""Steal time from which a hypervisor's other guests are felt: as long as the smallest tolerance in use."""

SWAPPING_MB = 100.0
"""Swap in use from which pages of the measured program may be on a disk."""

FEW_FREE_MB = 500.0
"""Free memory below which a workload may push out its own files."""

COARSE_NS = 1000.0
"""Step of the clock from which single iterations of fast code cannot be timed."""

STEADY_CLOCKS = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase"})
"""Sources that are read without a system call. Source: Linux Documentation/timers/timekeeping.rst."""


def examine_host(facts: HostFacts, context: Context, *, clock_step_ns: float) -> Iterator[Finding]:
    """Examine this machine.

    Args:
        facts: Its settings.
        context: Its readings while nothing was measured.
        clock_step_ns: The smallest step of the clock that times iterations.
    """
    yield _load(facts, context)
    yield _power(context)
    yield _heat(facts, context)
    yield _cpus(context)
    yield _governor(context)
    yield _turbo(facts)
    yield _threads(facts)
    yield _layout(facts)
    yield _virtual(facts, context)
    yield _memory(facts, context)
    yield _clock(facts, clock_step_ns)


def _load(facts: HostFacts, context: Context) -> Finding:
    if context.cpu_pct is None:
        return _pressure(context)
    who = ", ".join(f"{each.name} {each.cpu_pct:.0f} %" for each in facts.busiest)
    found = f"other programs use {context.cpu_pct:.0f} % of all CPUs" + (f" ({who} of one CPU)" if who else "")
    if context.cpu_pct <= QUIET_CPU_PCT:
        return good("load", found)
    busy = context.cpu_pct > BUSY_CPU_PERCENT
    return Finding(
        check="load",
        grade="bad" if busy else "poor",
        found=found,
        costs="iterations wait for a CPU and share its caches"
        + ("; runs get the caution busy-host, which --devperf-strict-context refuses" if busy else ""),
        remedy="end these programs, or compare in turns (--devperf-against), which load disturbs less",
    )


def _pressure(context: Context) -> Finding:
    """Judge the load by the kernel's own average, if nobody watched the machine for a moment."""
    pressure = context.pressure_cpu_pct
    if pressure is None:
        return unknown("load")
    found = f"programs waited for a CPU in {pressure:.0f} % of the last 10 s"
    if pressure <= QUIET_CPU_PCT:
        return good("load", found)
    return Finding(
        check="load",
        grade="bad" if pressure > BUSY_CPU_PERCENT else "poor",
        found=found,
        costs="iterations wait for a CPU and share its caches",
        remedy="end other programs, or compare in turns (--devperf-against), which load disturbs less",
    )


def _power(context: Context) -> Finding:
    plan = context.power_plan
    if context.power_state == "battery":
        return Finding(
            check="power",
            grade="bad",
            found="on battery",
            costs="clocks are lower, and runs are refused if their baseline was measured on mains",
            remedy="plug it in",
        )
    if plan is not None and plan in {"low-power", "quiet", "cool", "powersave", "Power saver"}:
        return Finding(
            check="power",
            grade="poor",
            found=f"the power plan is {plan}",
            costs="clocks are lower, and change with the load",
            remedy="powerprofilesctl set performance",
        )
    if context.power_state is None and plan is None:
        return unknown("power")
    return good("power", " ".join(filter(None, (context.power_state, plan))))


def _heat(facts: HostFacts, context: Context) -> Finding:
    if context.throttled:
        return Finding(
            check="heat",
            grade="bad",
            found="the processor is slowed down because it is hot",
            costs="everything is slower until it cools; such runs are refused",
            remedy="let it cool: devperf cooldown",
        )
    if context.temp_c is None:
        return Finding(
            check="heat",
            grade="unknown",
            found="no temperature can be read here",
            costs="a processor that slows down because it is hot is noticed only by the anchor kernel",
        )
    found = f"{context.temp_c:.0f} °C"
    if facts.critical_c is None:
        return good("heat", found)
    found += f", slowed down from {facts.critical_c:.0f} °C"
    if context.temp_c <= facts.critical_c - NEAR_LIMIT_C:
        return good("heat", found)
    return Finding(
        check="heat",
        grade="poor",
        found=found,
        costs="a few seconds of work may reach the limit",
        remedy="let it cool: devperf cooldown, and keep its vents free",
    )


def _cpus(context: Context) -> Finding:
    usable = context.cpu_set
    if usable is None:
        return unknown("CPUs")
    if usable.usable < 1:
        return Finding(
            check="CPUs",
            grade="bad",
            found=f"this process may use {usable.words}",
            costs="it is stopped for the rest of each period once its quota is used up, in the middle of rounds",
            remedy="raise the quota to at least one CPU (docker run --cpus)",
        )
    if "of " in usable.words:
        return Finding(
            check="CPUs",
            grade="poor",
            found=f"this process may use {usable.words}",
            costs="work of several threads is stopped once the quota is used up",
            remedy="raise the quota (docker run --cpus), or bind it to whole CPUs (--cpuset-cpus)",
        )
    return good("CPUs", f"this process may use {usable.words}")


def _governor(context: Context) -> Finding:
    if context.governor is None:
        return unknown("governor")
    if set(context.governor.split(",")) <= {"performance"}:
        return good("governor", context.governor)
    return Finding(
        check="governor",
        grade="poor",
        found=context.governor,
        costs="the clock follows the load: short work runs slower than long work",
        remedy="sudo cpupower frequency-set -g performance",
    )


def _turbo(facts: HostFacts) -> Finding:
    if facts.turbo is None:
        return unknown("turbo")
    if not facts.turbo:
        return good("turbo", "off")
    return Finding(
        check="turbo",
        grade="note",
        found="on",
        costs="the clock depends on heat and on how many cores are busy; the anchor kernel corrects most of it",
        remedy="echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, "
        "or echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
    )


def _threads(facts: HostFacts) -> Finding:
    if facts.smt is None:
        return unknown("core sharing")
    if not facts.smt:
        return good("core sharing", "no core runs two threads (SMT is off)")
    return Finding(
        check="core sharing",
        grade="note",
        found="cores run two threads each (SMT)",
        costs="a program on the same core takes up to half of its speed, and no counter shows it",
        remedy="echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


def _layout(facts: HostFacts) -> Finding:
    if facts.aslr is None:
        return unknown("memory layout")
    if not facts.aslr:
        return good("memory layout", "the same in every process")
    return Finding(
        check="memory layout",
        grade="note",
        found="another one in every process (ASLR)",
        costs="process starts differ by a percent or more; therefore rounds are spread over several of them",
    )


def _virtual(facts: HostFacts, context: Context) -> Finding:
    inside = "in a container" if facts.container else ""
    if facts.virtual is None and not inside:
        return unknown("machine")
    if not facts.virtual:
        return good("machine", inside or "no virtual one")
    stolen = context.stolen_pct
    found = f"virtual ({facts.virtual}){', ' + inside if inside else ''}"
    if stolen is None or stolen < STEAL_PCT:
        return Finding(
            check="machine",
            grade="note",
            found=found if stolen is None else f"{found}, {stolen:.1f} % of CPU time stolen",
            costs="neither the clock nor what other guests do to caches and memory can be seen from here",
        )
    return Finding(
        check="machine",
        grade="poor",
        found=f"{found}, {stolen:.1f} % of CPU time stolen",
        costs="other guests of the same computer take its CPUs in the middle of rounds",
        remedy="measure on a machine of its own, compare in turns (--devperf-against), or count instructions",
    )


def _memory(facts: HostFacts, context: Context) -> Finding:
    free, swapped = context.free_ram_mb, facts.swap_used_mb
    if free is None and swapped is None:
        return unknown("memory")
    found = ", ".join(
        word
        for word, value in (
            ("" if free is None else f"{free:.0f} MB free", free),
            ("" if not swapped else f"{swapped:.0f} MB swapped out", swapped),
        )
        if value is not None and word
    )
    short = free is not None and free < FEW_FREE_MB
    if short or (swapped or 0.0) > SWAPPING_MB:
        return Finding(
            check="memory",
            grade="poor",
            found=found,
            costs="pages and files are read from a disk again in the middle of rounds",
            remedy="end programs that hold memory" + ("" if short else "; sudo swapoff -a && sudo swapon -a"),
        )
    return good("memory", found)


def _clock(facts: HostFacts, step_ns: float) -> Finding:
    source = f" ({facts.clocksource})" if facts.clocksource else ""
    found = f"steps of {step_ns:.0f} ns{source}"
    slow = facts.clocksource is not None and facts.clocksource not in STEADY_CLOCKS
    if step_ns < COARSE_NS and not slow:
        return good("clock", found)
    return Finding(
        check="clock",
        grade="poor",
        found=found,
        costs="reading the time takes about a microsecond, so fast code is timed many calls at once",
        remedy="boot with clocksource=tsc if the processor supports it" if slow else "",
    )
