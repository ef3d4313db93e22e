"""The lines above a session: which device, in which state, measured how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_devperf.record.record import Commit, DeviceRecord, Run
from pytest_devperf.report.report import Report
from pytest_devperf.sensor.context import RunContext
from pytest_devperf.target.device import Device
from pytest_devperf.untrusted import printable

_KHZ_PER_MHZ = 1000


def header_lines(report: Report) -> list[str]:
    """Tell of every device and its state, and how it is measured.

    A report whose runs have no cases yet will do: the lines stand above the session.
    """
    lines: list[str] = []
    for run in report.runs:
        lines.append(f"devperf device: {device_line(run.device)}")
        lines += [f"devperf context: {line}" for line in (context_line(run.run_context),) if line]
    if report.runs:
        lines.append(f"devperf plan: {settings_line(report.runs[0].settings, report.target)}")
    if report.compared_with:
        lines.append(f"devperf compares with: {printable(report.compared_with)}")
    return lines + [f"devperf: {printable(message)}" for message in report.messages]


def device_line(device: DeviceRecord | Device) -> str:
    """Name a device with the facts that make its fingerprint."""
    name = " ".join(word for word in (device.manufacturer, device.model) if word) or device.soc or "unknown model"
    facts = [
        device.soc if device.soc and device.soc != name else None,
        device.abi,
        f"{device.cores} cores" if device.cores else None,
        f"{device.memory_gib} GiB" if device.memory_gib else None,
        device.fingerprint,
    ]
    return printable(f"{device.kind} {name} ({', '.join(fact for fact in facts if fact)})")


def context_line(context: RunContext) -> str:
    """Tell the state of a device in a line; what is not known is left out."""
    clocks = context.clock_state
    highest = max(clocks.max_khz.values(), default=None)
    software = (context.env.get(key) for key in ("os", "driver", "sdk", "ep", "python"))
    facts = [
        f"{context.temp_start_c:.1f} °C" if context.temp_start_c is not None else None,
        {True: "THROTTLED", False: "not throttled", None: None}[context.throttled],
        {True: "clocks pinned", False: None, None: None}[clocks.pinned],
        f"up to {highest / _KHZ_PER_MHZ:.0f} MHz" if highest else None,
        clocks.governor,
        _power(context),
        f"{context.prerun_cpu_pct:.0f} % CPU used before" if context.prerun_cpu_pct is not None else None,
        *(f"python {each}" if each and each[0].isdigit() else each for each in software),
    ]
    return printable(", ".join(fact for fact in facts if fact))


def settings_line(settings: Mapping[str, Any], target: str) -> str:
    """Tell how much is measured; keys are those of a run's `settings`."""
    facts = [f"suite {settings.get('suite', 'quick')}", f"target {target}"]
    words = {"processes": "process starts", "rounds": "rounds", "iterations": "iterations"}
    facts += [f"{settings[key]} {name}" for key, name in words.items() if settings.get(key) is not None]
    facts += [f"{key} {settings[key]}" for key in ("order", "seed") if settings.get(key) is not None]
    return printable(", ".join(facts))


def run_line(run: Run) -> str:
    """Name a run: label, time, id and commit, as far as it has them."""
    commit = commit_line(run.commit)
    facts = [run.label, run.taken_at, run.id, f"commit {commit}" if commit else None]
    return printable(f"run {', '.join(fact for fact in facts if fact)}")


def commit_line(commit: Commit | None) -> str:
    """Name the commit of a run, and whether it had changes on top; empty where none is known."""
    if commit is None or not commit.id:
        return ""
    branch = f" on {commit.branch}" if commit.branch else ""
    return printable(f"{commit.id[:12]}{branch}{' with changes' if commit.dirty else ''}")


def _power(context: RunContext) -> str | None:
    if context.power_state != "battery" or context.battery_pct is None:
        return context.power_state
    return f"battery at {context.battery_pct:.0f} %"
