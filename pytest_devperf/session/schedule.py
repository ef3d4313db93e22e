"""Choose the next process start, and the cases that take part in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

from pytest_devperf.case.plan import Order
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.modes.mode import StartRequest

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
        """The request of all members; their plans differ."""
        return self.members[0].request

    @property
    def words(self) -> str:
        """Description for users."""
        most = max(member.request.of for member in self.members)
        return f"{self.request.what} {self.request.place + 1} of {most}"


def groups(states: Sequence[CaseState], order: Order) -> Iterator[Sequence[CaseState]]:
    """Return the groups of cases whose process starts alternate: all cases in one group, or each case alone."""
    yield from [states] if order == "interleaved" else [[state] for state in states]


class Asked(Protocol):
    """Whoever knows what a case needs next."""

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Name the next process start that a case needs; None: it can be judged."""
        ...


class Schedule:
    """The process starts that cases need next, in order.

    A case is asked once for each of its own starts, not for each start of any case: its next start may depend on
    everything that was measured for it.
    """

    def __init__(self, mode: Asked, states: Iterable[CaseState]) -> None:
        self._mode = mode
        self._wanted: list[tuple[tuple[int, int, int], int, Member]] = []
        self.add(states)

    def add(self, states: Iterable[CaseState]) -> None:
        """Ask each of these cases for its next start; none of them may have a pending request."""
        for state in states:
            if state.pending and (request := self._mode.next_start(state)) is not None:
                self._put(Member(state, request))

    def next_batch(self) -> Batch | None:
        """Return the next process start, with all cases that share it; None if no case needs one."""
        if not self._wanted:
            return None
        first = self._take()
        if first.request.alone:
            return Batch(_target_of(first), (first,))
        same_order = [first]
        while self._wanted and self._wanted[0][0] == first.request.order:
            same_order.append(self._take())
        for member in same_order:
            if _key(member) != _key(first):
                self._put(member)
        return Batch(_target_of(first), tuple(member for member in same_order if _key(member) == _key(first)))

    def _put(self, member: Member) -> None:
        heappush(self._wanted, (member.request.order, member.state.index, member))

    def _take(self) -> Member:
        return heappop(self._wanted)[2]


def _key(member: Member) -> tuple[object, ...]:
    request = member.request
    return request.phase, request.place, request.process, request.role, request.paired, id(member.state.target)


def _target_of(member: Member) -> Target:
    assert member.state.target is not None, "whatever needs another start was measured on a device"
    return member.state.target
