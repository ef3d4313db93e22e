"""The data that a session sends to another process, which combines several sessions."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan, Suite
from pytest_devperf.compare.history import Baseline
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.record import Record
from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.summary import chain_looks
from pytest_devperf.session.cases.case_state import CaseState, CaseStates, TestAddress
from pytest_devperf.session.starts.start import CaseStart
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.protocol import Target


class SentCase(msgspec.Struct, kw_only=True):
    """The results of one case."""

    id: str
    suite: Suite
    policy: Policy
    concluded: bool
    record: Record | None
    looks: list[Context]
    prerun: Context | None
    skip_reason: str | None


class Sent(msgspec.Struct, kw_only=True):
    """The results of a session."""

    device: Device
    cases: list[SentCase]
    collected: list[str]
    """Ids of the cases that it collected, selected or not."""
    deselected: int
    notes: list[str]
    remarks: list[str]


def send_case(state: CaseState) -> SentCase:
    """Return the parts of a case that another process needs."""
    return SentCase(
        id=state.case.id,
        suite=state.case.suite,
        policy=state.policy,
        concluded=state.concluded,
        record=state.record,
        looks=chain_looks(start.looks for start in state.starts),
        prerun=next((start.prerun for start in state.starts), None),
        skip_reason=state.skip_reason,
    )


def lost_worker(name: str) -> SentCase:
    """Create a case that stands for all results that a dead worker did not send."""
    return SentCase(
        id=f"worker of {name}",
        suite="quick",
        policy=Policy(),
        concluded=False,
        record=None,
        looks=[],
        prerun=None,
        skip_reason=None,
    )


def receive_case(
    sent: SentCase,
    device: Device,
    states: CaseStates,
    plan: Plan,
    baseline_of: Callable[[str, Device], Baseline | None],
) -> None:
    """Add a case that another process measured.

    Args:
        sent: Its results.
        device: The device it was measured on.
        states: The cases so far.
        plan: The plan of a case without marker keywords.
        baseline_of: Finds the baseline of a case on a device.
    """
    start = CaseStart(process=0, role="rounds", looks=sent.looks, prerun=sent.prerun, unsupported=sent.skip_reason)
    elsewhere: Target = _Elsewhere(device)  # type: ignore[assignment] # nothing is started on it
    states.add(
        CaseState(
            index=len(states),
            case=Case(id=sent.id, suite=sent.suite, plan=plan),
            address=TestAddress(path="", nodeid=sent.id),
            policy=sent.policy,
            baseline=baseline_of(sent.id, device),
            target=elsewhere,
            starts=[start],
            record=sent.record,
            comparison=sent.record.comparison if sent.record is not None else None,
            concluded=sent.concluded,
        )
    )


class _Elsewhere:
    """A device on which another process measured: only its facts."""

    def __init__(self, device: Device) -> None:
        self.device = device
