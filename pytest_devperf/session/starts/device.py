"""Differences between kinds of devices."""

from __future__ import annotations

from dataclasses import replace

from pytest_devperf.case.plan import Plan
from pytest_devperf.targets.device import HOST
from pytest_devperf.targets.protocol import Target

PHONES = frozenset({"android", "sim", "ios"})
"""Kinds of device that rest between rounds and are given time to cool."""

PHONE_REST_S = 0.5
"""Rest between rounds on a phone: it lets a burst's heat leave the cores."""


def is_phone(target: Target | None) -> bool:
    """Return whether a target is a phone."""
    return target is not None and target.device.kind in PHONES


def rest_s(plan: Plan, target: Target | None) -> float:
    """Return the wait between rounds: as planned, or the default of the device."""
    return _rest_s(plan, HOST if target is None else target.device.kind)


def plan_on(plan: Plan, kind: str) -> Plan:
    """Complete a plan with the defaults of the kind of device: the wait between rounds."""
    return replace(plan, round_cooldown=_rest_s(plan, kind))


def _rest_s(plan: Plan, kind: str) -> float:
    if plan.round_cooldown is not None:
        return plan.round_cooldown
    return PHONE_REST_S if kind in PHONES else 0.0


def is_this_machine(target: Target) -> bool:
    """Return whether a target is the machine that runs the tests."""
    return target.device.kind == HOST
