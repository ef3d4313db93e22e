"""Judge the processor of this machine: its heat, its cores and its clocks."""

from __future__ import annotations

from pytest_devperf.doctor.finding import Finding, good, unknown
from pytest_devperf.doctor.host_facts import HostFacts
from pytest_devperf.sensor.context import Context

NEAR_LIMIT_C = 15.0
"""Distance to the limit from which a processor may soon be slowed down: it gets 10 °C hotter within seconds."""

COARSE_NS = 1000.0
"""Step of the clock from which single iterations of fast code cannot be timed."""

STEADY_CLOCKS = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase"})
"""Sources that are read without a system call. Source: Linux Documentation/timers/timekeeping.rst."""


def judge_heat(facts: HostFacts, context: Context) -> Finding:
    """Judge how far the processor is from being slowed down because it is hot."""
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


def judge_cpus(context: Context) -> Finding:
    """Judge how many CPUs this process may use."""
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


def judge_governor(context: Context) -> Finding:
    """Judge whether the clock follows the load."""
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


def judge_turbo(facts: HostFacts) -> Finding:
    """Judge whether the clock depends on heat and busy cores."""
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


def judge_threads(facts: HostFacts) -> Finding:
    """Judge whether a core runs two threads."""
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


def judge_clock(facts: HostFacts, step_ns: float) -> Finding:
    """Judge the clock that times iterations."""
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
