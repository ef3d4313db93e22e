"""Examine whether a device is fit to measure on.

Reads its settings and sensors, measures a fixed piece of work for some seconds, and shows what makes measurements
worse, what it costs, and what to do about it. It changes no setting.

The exit code is 1 if something is bad: runs would be refused, or could see no slowdown below --devperf-blind.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pytest_devperf.cli.arguments import seconds
from pytest_devperf.cli.devices.open import Opened, add_target, open_device
from pytest_devperf.cli.output import EXIT_FAILED, columns, echo, show_live
from pytest_devperf.compare.policy import Policy
from pytest_devperf.doctor.finding import Finding, unknown
from pytest_devperf.doctor.trial import Trial
from pytest_devperf.targets.device import HOST

if TYPE_CHECKING:
    from pytest_devperf.doctor.trial import StartTrial
    from pytest_devperf.targets.android.target import AndroidTarget

MEASURED_S = 10.0
"""Time to measure for: enough for a dozen process starts of each side on a machine that is fit."""


EXAMPLES = ("devperf doctor", "devperf doctor --target android")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the device, the time, and the format."""
    add_target(parser, default="host")
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=MEASURED_S,
        help=f"time to measure for; 0: measure nothing (default: {MEASURED_S:g})",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="(default: text)")


def run(arguments: argparse.Namespace) -> int:
    """Print the findings."""
    with ExitStack() as stack:
        opened = open_device(arguments.target, stack)
        findings = _examine(opened)
        trials = _measure(opened, arguments.seconds) if arguments.seconds > 0 else {}
    name = opened.target.device.name
    if arguments.format == "json":
        import json

        from pytest_devperf.report.terminal.findings import as_document

        echo(json.dumps(as_document(name, findings, trials), indent=1))
    else:
        from pytest_devperf.report.terminal.findings import render

        echo(f"{name}\n\n{render(findings, trials, width=columns())}")
    return EXIT_FAILED if any(each.grade == "bad" for each in findings) or _blind(trials) else 0


def _blind(trials: Mapping[str, Trial]) -> bool:
    usual = next(iter(trials.values()), None)
    return usual is not None and (usual.detectable_pct is None or usual.detectable_pct > 100 * Policy().blind)


def _examine(opened: Opened) -> list[Finding]:
    from pytest_devperf.targets.android.target import AndroidTarget

    if opened.target.device.kind == HOST:
        return _examine_host(opened)
    if isinstance(opened.target, AndroidTarget):
        return _examine_phone(opened.target)
    return [unknown("settings and sensors")]


def _examine_host(opened: Opened) -> list[Finding]:
    from pytest_devperf.doctor.host import examine_host
    from pytest_devperf.doctor.host_facts import clock_step_ns, read_host_facts
    from pytest_devperf.sensor.host.machine import Machine

    show_live("watching what else uses this machine")
    machine = Machine()
    context = machine.prerun(opened.clock)
    facts = read_host_facts()
    show_live("")
    return list(examine_host(facts, context, clock_step_ns=clock_step_ns()))


def _examine_phone(target: AndroidTarget) -> list[Finding]:
    from pytest_devperf.doctor.phone import PhoneState, examine_phone

    show_live(f"reading the sensors of {target.device.name}")
    state = PhoneState(
        leftover=target.leftover(),
        context=target.glance(idle=True),
        power=target.read_sensors().power,
        emulator=target.emulator,
        debuggable=target.debuggable,
    )
    show_live("")
    return list(examine_phone(state))


def _measure(opened: Opened, budget_s: float) -> dict[str, Trial]:
    """Measure the fixed work, on this machine bound to one CPU as well, each for its part of the time."""
    from pytest_devperf.doctor.host_trial import last_cpu, start_fresh
    from pytest_devperf.doctor.trial import PHONE_COMMAND, start_on

    if opened.target.device.kind != HOST:
        return {"as it is": _trial(lambda index: start_on(opened.target, PHONE_COMMAND, index, opened.clock), budget_s)}
    cpu = last_cpu()
    ways: dict[str, StartTrial] = {"as it is": start_fresh}
    if cpu is not None:
        ways[f"bound to one CPU (taskset -c {cpu})"] = lambda index: start_fresh(index, cpu)
    return {how: _trial(start, budget_s / len(ways)) for how, start in ways.items()}


def _trial(start: StartTrial, budget_s: float) -> Trial:
    from pytest_devperf.doctor.trial import alternate, compare_halves

    began = time.monotonic()
    results = []
    for result in alternate(start, lambda _: time.monotonic() - began < budget_s):
        results.append(result)
        show_live(f"measuring, process start {len(results)}")
    show_live("")
    return compare_halves(results)
