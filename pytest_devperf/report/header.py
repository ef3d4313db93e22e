"""Render the lines above a session: devices, their state, and the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_devperf.case.plan import Plan
from pytest_devperf.english import counted, counted_range
from pytest_devperf.record.record import Commit, DeviceRecord, Run
from pytest_devperf.report.report import Report
from pytest_devperf.sensor.run_context import RunContext
from pytest_devperf.targets.device import HOST, Device
from pytest_devperf.untrusted import printable

_KHZ_PER_MHZ = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Upper bounds for one case."""

    starts: int
    """Process starts."""
    rounds: int
    iterations: int
    """Per round."""


def header_lines(report: Report, *, brief: bool = False) -> list[str]:
    """Describe every device and its state, in one line each.

    The runs of the report need no cases: the lines are printed before the session.

    Args:
        report: Its runs and messages.
        brief: Whether to leave out the software of this machine, which pytest's own header names.
    """
    lines: list[str] = []
    for run in report.runs:
        state = context_line(run.run_context, software=not brief or run.device.kind != HOST)
        lines.append(f"devperf device: {'; '.join(filter(None, (device_line(run.device), state)))}")
    return lines + [f"devperf: {printable(message)}" for message in report.messages]


def plan_line(what: Sequence[str], settings: Mapping[str, Any], waits: str | None) -> str:
    """Describe how much will be measured.

    Args:
        what: The cases, and how much of each is measured.
        settings: The settings of the run.
        waits: How long devices are waited for at most, if they are.
    """
    plan = printable(f"devperf plan: {', '.join((*what, *order_words(settings)))}")
    return f"{plan}; {waits}" if waits else plan


def plan_words(planned: Sequence[Planned], *, on: str = "in {starts}", starts: str = "process start") -> str:
    """Describe how much is measured, with "up to": convergence, an early pass or the budget may end a case sooner.

    >>> plan_words([Planned(starts=3, rounds=12, iterations=30), Planned(starts=3, rounds=12, iterations=5)])
    'up to 12 rounds of 5 to 30 iterations in 3 process starts'

    Args:
        planned: One per case; at least one.
        on: Format of the process starts.
        starts: Noun for a start.
    """
    rounds = counted_range([each.rounds for each in planned], "round")
    iterations = counted_range([each.iterations for each in planned], "iteration")
    where = on.format(starts=counted_range([each.starts for each in planned], starts))
    return f"up to {rounds} of {iterations} {where}"


def device_line(device: DeviceRecord | Device) -> str:
    """Name a device with the facts that determine its fingerprint."""
    name = " ".join(word for word in (device.manufacturer, device.model) if word) or device.soc or "unknown model"
    facts = [
        device.soc if device.soc and device.soc != name else None,
        device.abi,
        counted(device.cores, "core") if device.cores else None,
        f"{device.memory_gib} GiB" if device.memory_gib else None,
        device.fingerprint,
    ]
    return printable(f"{device.kind} {name} ({', '.join(fact for fact in facts if fact)})")


def context_line(context: RunContext, *, software: bool = True) -> str:
    """Describe the state of a device in one line; unknown values are left out.

    Args:
        context: What is known of it.
        software: Whether to name operating system, driver and runtimes.
    """
    clocks = context.clock_state
    highest = max(clocks.max_khz.values(), default=None)
    versions = [context.env.get(key) for key in ("os", "driver", "sdk", "ep", "python")] if software else []
    facts = [
        f"{context.temp_start_c:.1f} °C" if context.temp_start_c is not None else None,
        *(f"{name} up to {celsius:.1f} °C" for name, celsius in context.sensors_max_c.items()),
        {True: "THROTTLED", False: "not throttled", None: None}[context.throttled],
        {True: "clocks pinned", False: None, None: None}[clocks.pinned],
        f"up to {highest / _KHZ_PER_MHZ:.0f} MHz" if highest else None,
        clocks.governor,
        _power(context),
        f"{context.prerun_cpu_pct:.0f} % CPU used before the run" if context.prerun_cpu_pct is not None else None,
        *(f"python {each}" if each and each[0].isdigit() else each for each in versions),
    ]
    return printable(", ".join(fact for fact in facts if fact))


def settings_line(settings: Mapping[str, Any]) -> str:
    """Describe the settings of a run, by the keys of its `settings`."""
    facts = [f"suite {settings.get('suite', 'quick')}"]
    words = {"processes": "process start", "rounds": "round", "iterations": "iteration"}
    facts += [counted(settings[key], noun) for key, noun in words.items() if settings.get(key) is not None]
    return printable(", ".join((*facts, *order_words(settings))))


def order_words(settings: Mapping[str, Any]) -> list[str]:
    """Return the settings that determine the order of cases, so that it can be repeated; not the usual order."""
    usual = {"order": Plan().order}
    return [f"{key} {settings[key]}" for key in ("order", "seed") if settings.get(key) not in {None, usual.get(key)}]


def run_line(run: Run) -> str:
    """Name a run: label, time, id and commit, if known."""
    commit = commit_line(run.commit)
    facts = [run.label, run.taken_at, run.id, f"commit {commit}" if commit else None]
    return printable(f"run {', '.join(fact for fact in facts if fact)}")


def commit_line(commit: Commit | None) -> str:
    """Name the commit of a run, and whether there were uncommitted changes; empty if not known."""
    if commit is None or not commit.id:
        return ""
    branch = f" on {commit.branch}" if commit.branch else ""
    return printable(f"{commit.id[:12]}{branch}{' with uncommitted changes' if commit.dirty else ''}")


def _power(context: RunContext) -> str | None:
    if context.power_state != "battery" or context.battery_pct is None:
        return context.power_state
    return f"battery at {context.battery_pct:.0f} %"
