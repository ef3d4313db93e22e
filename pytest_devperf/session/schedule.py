"""Choose the next process start, and the cases that take part in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_devperf.case.plan import Order
from pytest_devperf.session.case_state import CaseState
from pytest_devperf.session.modes.mode import Mode, StartRequest

if TYPE_CHECKING:
    from pytest_devperf.targets.protocol import Target


@dataclass(frozen=True, slots=True)
class Member:
    """A case that takes part in a process start."""

    state: CaseState
    request: StartRequest


@dataclass(frozen=True, slots=True)
class Batch:
    """One process start of one or more cases, on one device."""

    target: Target
    members: tuple[Member, ...]

    @property
    def request(self) -> StartRequest:
        """What all members need; what they do in it differs."""
        return self.members[0].request

    @property
    def words(self) -> str:
        """Describe it for people."""
        most = max(member.request.of for member in self.members)
        return f"{self.request.what} {self.request.place + 1} of {most}"


def groups(states: Sequence[CaseState], order: Order) -> Iterator[Sequence[CaseState]]:
    """Return the cases whose process starts alternate: all of them, or one after the other."""
    yield from [states] if order == "interleaved" else [[state] for state in states]


def next_batch(states: Sequence[CaseState], mode: Mode) -> Batch | None:
    """Choose the process start that comes next; None: every case can be judged, or has been."""
    wanted = [
        Member(state, request) for state in states if state.pending and (request := mode.next_start(state)) is not None
    ]
    if not wanted:
        return None
    first = min(wanted, key=lambda member: member.request.order)
    if first.request.alone:
        return Batch(_target_of(first), (first,))
    alike = [each for each in wanted if _key(each) == _key(first)]
    return Batch(_target_of(first), tuple(alike))


def _key(member: Member) -> tuple[object, ...]:
    request = member.request
    return request.phase, request.place, request.process, request.role, request.paired, id(member.state.target)


def _target_of(member: Member) -> Target:
    assert member.state.target is not None, "whatever needs another start was measured on a device"
    return member.state.target
