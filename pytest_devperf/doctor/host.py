"""Judge the settings and the readings of this machine."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_devperf.doctor.finding import Finding, good, unknown
from pytest_devperf.doctor.host_facts import HostFacts
from pytest_devperf.doctor.host_processor import (
    judge_clock,
    judge_cpus,
    judge_governor,
    judge_heat,
    judge_threads,
    judge_turbo,
)
from pytest_devperf.record.own_cautions import BUSY_CPU_PERCENT
from pytest_devperf.sensor.context import Context

QUIET_CPU_PCT = 5.0
"""CPU use of other programs up to which a machine is quiet: background services of an idle desktop stay below."""

STEAL_PCT = 1.0
"""Steal time from which a hypervisor's other guests are felt: as long as the smallest tolerance in use."""

SWAPPING_MB = 100.0
"""Swap in use from which pages of the measured program may be on a disk."""

FEW_FREE_MB = 500.0
"""Free memory below which a workload may push out its own files."""


def examine_host(facts: HostFacts, context: Context, *, clock_step_ns: float) -> Iterator[Finding]:
    """Examine this machine.

    Args:
        facts: Its settings.
        context: Its readings while nothing was measured.
        clock_step_ns: The smallest step of the clock that times iterations.
    """
    yield _load(facts, context)
    yield _power(context)
    yield judge_heat(facts, context)
    yield judge_cpus(context)
    yield judge_governor(context)
    yield judge_turbo(facts)
    yield judge_threads(facts)
    yield _layout(facts)
    yield _virtual(facts, context)
    yield _memory(facts, context)
    yield judge_clock(facts, clock_step_ns)


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
