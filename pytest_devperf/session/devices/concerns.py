"""The worst of what makes measurements on a device worse, for the lines above a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_devperf.doctor.finding import Finding, worst
from pytest_devperf.session.starts.device import is_phone, is_this_machine

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.protocol import Target

NAMED = 2
"""Findings to name: `devperf doctor` shows the others, what they cost, and what to do."""


def describe_concerns(target: Target, seen: Context | None) -> str | None:
    """Name the worst findings on a device; None if there are none.

    Args:
        target: The device.
        seen: Its readings.
    """
    if seen is None:
        return None
    named = worst(_examine(target, seen), NAMED)
    if not named:
        return None
    found = "; ".join(f"{each.check}: {each.found}" for each in named)
    where = "this machine" if is_this_machine(target) else target.device.name
    return f"{where} is not at its best for measuring ({found}): see devperf doctor"


def _examine(target: Target, seen: Context) -> Iterable[Finding]:
    if is_this_machine(target):
        from pytest_devperf.doctor.host import examine_host
        from pytest_devperf.doctor.host_facts import clock_step_ns, read_host_facts

        return examine_host(read_host_facts(sample_s=None), seen, clock_step_ns=clock_step_ns())
    if not is_phone(target):
        return ()
    from pytest_devperf.doctor.phone import examine_readings

    return examine_readings(seen)
