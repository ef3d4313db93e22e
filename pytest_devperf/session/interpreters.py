"""Run process starts on this machine, in fresh interpreters or pairs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.case import Case
from pytest_devperf.session.edge import Display
from pytest_devperf.session.found import OldFound, StartFound
from pytest_devperf.session.launch.follow import run_cases
from pytest_devperf.session.launch.handover import Surroundings, WantedCase
from pytest_devperf.session.launch.interpreter import Assignment, CommandLine, Environment
from pytest_devperf.session.launch.old_code import OldEnvironment
from pytest_devperf.session.launch.turns import NEW, OLD, run_pair
from pytest_devperf.session.schedule import Batch, Member

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context

NAMED_MODULES = 3
"""Modules that a note names; the others are counted."""


@dataclass(slots=True, kw_only=True)
class Interpreters:
    """Runs the cases of a batch in fresh interpreters that run their tests again."""

    command_line: Callable[[], CommandLine]
    surroundings: Surroundings
    seed: int
    display: Display
    old: OldEnvironment | None = None
    shared: frozenset[str] = frozenset()
    """Modules that the old side imported from this checkout."""

    def check(self) -> None:
        """See that the old code can take part.

        Raises:
            UsageError: It cannot.
        """
        if self.old is not None:
            _ = self._old

    @property
    def _old(self) -> Environment:
        assert self.old is not None, "only a session in turns asks for the old code"
        return self.old.found.environment

    def run(self, batch: Batch, prerun: Context | None) -> Iterator[StartFound]:
        """Run a batch.

        Args:
            batch: One process start of one or more cases.
            prerun: This machine before it, idle.
        """
        request = batch.request
        if request.paired and request.role == "solo":
            return self._one_after_the_other(batch)
        if request.paired:
            return self._in_turns(batch, prerun)
        return self._fresh(batch, prerun)

    def _fresh(self, batch: Batch, prerun: Context | None) -> Iterator[StartFound]:
        found = run_cases(self._assignment(batch))
        for member in batch.members:
            yield StartFound(
                state=member.state, process=batch.request.process, result=found[member.state.index], prerun=prerun
            )

    def _one_after_the_other(self, batch: Batch) -> Iterator[StartFound]:
        """Measure load and memory of both sides in solo starts; of the new one only if the old one has any."""
        (member,) = batch.members
        process, index = batch.request.process, member.state.index
        assignment = self._assignment(batch)
        if process % 2:
            old = run_cases(assignment, self._old)[index]
            new = run_cases(assignment)[index]
        else:
            new = run_cases(assignment)[index]
            old = run_cases(assignment, self._old)[index]
        yield StartFound(state=member.state, process=process, result=new, old=OldFound(result=old, crashed=True))

    def _in_turns(self, batch: Batch, prerun: Context | None) -> Iterator[StartFound]:
        """Measure one pair of process starts; a case after one that killed its interpreter is left for another."""
        pair = batch.request.place
        # The order is the same on both sides, so no seed shuffles it.
        found = run_pair(replace(self._assignment(batch), seed=0), pair=pair, old=self._old)
        self.shared |= frozenset(found.modules)
        unlucky = any(each.fell for side in found.found.values() for each in side.values())
        for member in batch.members:
            new, old = found.found[NEW][member.state.index], found.found[OLD][member.state.index]
            fell = new.fell or old.fell
            if unlucky and not fell and not (new.settled and old.settled):
                continue
            is_over = new.settled or new.begun or NEW in found.crashed
            yield StartFound(
                state=member.state,
                process=batch.request.process,
                result=new if is_over else None,
                prerun=prerun,
                old=OldFound(result=old, crashed=fell or OLD in found.crashed),
                pair=pair,
            )

    def _assignment(self, batch: Batch) -> Assignment:
        request = batch.request
        cases = {member.state.index: member.state.case for member in batch.members}
        return Assignment(
            command_line=self.command_line(),
            surroundings=self.surroundings,
            wanted=[_wanted(member) for member in batch.members],
            process=request.process,
            role=request.role,
            seed=self.seed + request.process,
            on_event=lambda event: self._show(event, cases),
        )

    def _show(self, event: Mapping[str, Any], cases: Mapping[int, Case]) -> None:
        if event["kind"] == "start":
            self.display.measuring(cases[event["index"]])
        else:
            self.display.idle()

    def note(self) -> str | None:
        """Say what both sides shared, so that nobody takes new code compared with new code for a comparison."""
        if not self.shared:
            return None
        modules = sorted(self.shared)
        named = ", ".join(modules[:NAMED_MODULES])
        more = f" and {len(modules) - NAMED_MODULES} more" if len(modules) > NAMED_MODULES else ""
        return (
            f"the old side also imported {named}{more} from this checkout, so changes in there were not compared "
            "(a src layout, --import-mode=importlib, or the pytest script instead of python -m pytest keeps them apart)"
        )


def _wanted(member: Member) -> WantedCase:
    state = member.state
    return WantedCase(
        index=state.index,
        path=state.address.path,
        nodeid=state.address.nodeid,
        nth=state.address.nth,
        case=state.case,
        start_plans=member.request.start_plans,
    )
