"""The description of a session's devices above its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_devperf.case.plan import Plan
from pytest_devperf.record.codec import settings_of
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.report.report import Report
from pytest_devperf.sensor.summary import summarise
from pytest_devperf.session.devices.concerns import describe_concerns
from pytest_devperf.session.devices.targets import AUTO, Pinning, SessionTargets
from pytest_devperf.session.starts.device import is_this_machine

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.device import Device
    from pytest_devperf.targets.protocol import Target


def describe_devices(targets: SessionTargets, spec: str, plan: Plan, *, ready: bool) -> Report:
    """Describe the devices of a session, their state, and how they are measured.

    Args:
        targets: The session's devices.
        spec: The requested target.
        plan: The plan of a case without marker keywords.
        ready: Whether the session's device may be changed for measuring.
    """
    target = targets.session_target()
    seen = [(target, targets.sensors.look(target) if ready else _glance(targets, target))]
    phone = targets.phone() if ready and spec == AUTO else None
    if phone is not None:
        # It is opened for the first case that runs on it: a session with only Python calls does not change it.
        seen.append((phone, _glance(targets, phone)))
    targets.note_state(target)
    runs = tuple(run_before(each.device, context, plan) for each, context in seen)
    concerns = [describe_concerns(each, context) for each, context in seen]
    return Report(runs=runs, messages=(*targets.notes, *(words for words in concerns if words is not None)))


def run_before(device: Device, seen: Context | None, plan: Plan) -> Run:
    """Create the run of a device without cases, for the lines above a session."""
    return Run(
        taken_at="",
        devperf_version="",
        device=DeviceRecord.of(device),
        settings=settings_of(plan),
        run_context=summarise([seen] if seen is not None else [], prerun=None),
    )


def _glance(targets: SessionTargets, target: Target) -> Context | None:
    """Read the sensors of a device that must not, or not yet, be changed for measuring."""
    if isinstance(target, Pinning):
        return target.glance()
    return targets.sensors.look(target) if is_this_machine(target) else None
