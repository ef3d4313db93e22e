"""Run process starts on this machine, in fresh interpreters or pairs of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.case import Case
from pytest_devperf.session.cases.edge import Display
from pytest_devperf.session.cases.found import OldFound, StartFound
from pytest_devperf.session.launch.follow import run_cases
from pytest_devperf.session.launch.handover import Surroundings, WantedCase
from pytest_devperf.session.launch.interpreter import HERE, Assignment, CommandLine, Environment
from pytest_devperf.session.launch.turns import NEW, OLD, run_pair
from pytest_devperf.session.revision.old_environment import OldEnvironment
from pytest_devperf.session.running.counting import SessionCounting
from pytest_devperf.session.schedule import Batch, Member

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context

PROFILED = {"PYTHONHASHSEED": "0"}
"""What profiled starts have in common: with other hash seeds, the times of unchanged functions differ by more."""

NAMED_MODULES = 3
"""Modules that a note names; it only counts the others."""


@dataclass(slots=True, kw_only=True)
class Interpreters:
    """Runs the cases of a batch in fresh interpreters that run their tests again."""

    command_line: Callable[[], CommandLine]
    surroundings: Surroundings
    seed: int
    display: Display
    counting: SessionCounting = field(default_factory=SessionCounting)
    old: OldEnvironment | None = None
    shared: frozenset[str] = frozenset()
    """Modules that the old side imported from this checkout."""
    idle: str | None = None
    """A revision of which the old side has imported nothing so far."""

    def prepare(self, files: Iterable[str]) -> None:
        """Prepare the old code, if this session measures in turns with it.

        Args:
            files: The files with cases.

        Raises:
            UsageError: It cannot take part.
        """
        if self.old is not None:
            self.old.prepare(sorted(map(Path, set(files))), self.display.announce)
            relocation = self.old.found.environment.relocation
            self.idle = relocation.revision if relocation is not None else None

    @property
    def _both(self) -> tuple[Environment, Environment]:
        """The environments of the old and the new code."""
        assert self.old is not None, "only a session in turns asks for the old code"
        return self.old.found.environment, self.old.found.beside

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
        if request.role == "counted":
            return self._counted(batch)
        return self._fresh(batch, prerun)

    def _counted(self, batch: Batch) -> Iterator[StartFound]:
        """Count the cases of a batch in one interpreter under valgrind."""
        with tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True) as folder:
            states = {member.state.index: member.state for member in batch.members}
            environment = self.counting.environment(Path(folder), batch.request.process)
            for index, result in run_cases(self._assignment(batch), environment):
                yield StartFound(state=states[index], process=batch.request.process, role="counted", result=result)

    def profile(self, batch: Batch, *, old: bool) -> Iterator[StartFound]:
        """Run a batch to look where its time goes.

        Args:
            batch: One process start of one or more cases.
            old: Whether the old code runs it.
        """
        before, now = (HERE, HERE) if self.old is None else self._both
        states = {member.state.index: member.state for member in batch.members}
        assignment = replace(self._assignment(batch), variables=PROFILED)
        for index, result in run_cases(assignment, before if old else now):
            yield StartFound(state=states[index], process=batch.request.process, role="profile", result=result)

    def _fresh(self, batch: Batch, prerun: Context | None) -> Iterator[StartFound]:
        states = {member.state.index: member.state for member in batch.members}
        for index, result in run_cases(self._assignment(batch)):
            yield StartFound(state=states[index], process=batch.request.process, result=result, prerun=prerun)

    def _one_after_the_other(self, batch: Batch) -> Iterator[StartFound]:
        """Measure load and memory of both sides in solo starts; of the new one only if the old one has any."""
        (member,) = batch.members
        process, index = batch.request.process, member.state.index
        assignment = self._assignment(batch)
        before, after = self._both
        if process % 2:
            old = dict(run_cases(assignment, before))[index]
            new = dict(run_cases(assignment, after))[index]
        else:
            new = dict(run_cases(assignment, after))[index]
            old = dict(run_cases(assignment, before))[index]
        yield StartFound(state=member.state, process=process, result=new, old=OldFound(result=old, crashed=True))

    def _in_turns(self, batch: Batch, prerun: Context | None) -> Iterator[StartFound]:
        """Measure one pair of process starts; a case after one that killed its interpreter is left for another pair."""
        pair = batch.request.place
        before, after = self._both
        # The order is the same on both sides, so no seed shuffles it.
        found = run_pair(replace(self._assignment(batch), seed=0), pair=pair, old=before, new=after)
        self.shared |= frozenset(found.modules)
        self.idle = None if found.of_revision else self.idle
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

    def notes(self) -> Iterator[str]:
        """Name the modules that both sides shared: for these, new code was compared with itself."""
        if self.idle is not None:
            yield f"the tests imported no module of {self.idle}, so only files and programs that they name differed"
        if not self.shared or self.old is None:
            return
        modules = sorted(self.shared)
        named = ", ".join(modules[:NAMED_MODULES])
        more = f" and {len(modules) - NAMED_MODULES} more" if len(modules) > NAMED_MODULES else ""
        yield (
            f"the old side also imported {named}{more} from this checkout, so changes in these were not compared "
            f"({self.old.found.remedy})"
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
        paces=member.request.paces,
    )
