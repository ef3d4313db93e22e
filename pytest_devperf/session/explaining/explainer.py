"""Show where the time of a change went.

Runs after all measuring, in process starts of their own, and changes no verdict and no sample. What goes wrong
becomes a sentence of the explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from pytest_devperf.english import counted
from pytest_devperf.errors import DevperfError
from pytest_devperf.explain.cause import ExplainMode, Explanation, MeasuredChange, explain
from pytest_devperf.explain.profile import Profile, merge
from pytest_devperf.metric import NS_PER_MS, NS_PER_S
from pytest_devperf.record.record import Change
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.cases.edge import Display, Reporter
from pytest_devperf.session.cases.found import StartFound
from pytest_devperf.session.explaining.choice import (
    BUDGET_S,
    can_be_profiled,
    change_to_explain,
    fitting,
    most_urgent_first,
)
from pytest_devperf.session.explaining.requests import batches_of, iterations_of, saved_profile
from pytest_devperf.session.running.launchers import Launchers
from pytest_devperf.session.schedule import Batch
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.targets.protocol import Clock

OLD, NEW = True, False
"""Which code a process start runs."""

IN_TURNS = (OLD, NEW, NEW, OLD)
"""Process starts of a comparison in turns: what drifts meanwhile touches both sides alike."""

ALONE = (NEW, NEW)
"""Process starts if the old code was profiled when it was saved: two, since only a count that both agree on counts."""

NOT_SHOWN = "not known, because what runs it does not show where its time goes"
"""Explanation of a change of a workload that nothing can be profiled of."""

NO_PROFILE = "not known, because the baseline holds no profile: save it again, or use --devperf-against"
"""Explanation of a change since a run that was saved without profiles."""


@dataclass(slots=True)
class _Profiles:
    """What the process starts of one case gave."""

    old: list[Profile] = field(default_factory=list)
    new: list[Profile] = field(default_factory=list)
    problem: str | None = None


@dataclass(slots=True, kw_only=True)
class Explainer:
    """Profiles the cases of a session that changed, and those that it saves."""

    mode: ExplainMode
    saves: bool
    """Whether the session saves its run."""
    in_turns: bool
    """Whether this machine can run the old code."""
    launchers: Launchers
    reporter: Reporter
    display: Display
    clock: Callable[[], Clock]

    def wants(self, state: CaseState) -> bool:
        """Return whether a case that was judged has a change to explain."""
        return change_to_explain(state, self.mode) is not None

    def explain(self, states: Sequence[CaseState], left_s: float) -> None:
        """Explain what changed, the largest change first, as long as there is time.

        Args:
            states: The cases.
            left_s: What is left of the session's own budget.
        """
        wanted = []
        for state in most_urgent_first([state for state in states if self.wants(state)], self.mode):
            if self._runs_old_code(state) or saved_profile(state, self._change(state).metric) is not None:
                wanted.append(state)
            else:
                self._note(state, NO_PROFILE)
        for state in self._in_groups(wanted, self._explain_together, left_s):
            self._note(state, "not looked for, because the time for explanations is used up")

    def profile(self, states: Sequence[CaseState], left_s: float) -> None:
        """Profile the cases of a run that is saved, so that a later change can be explained.

        Args:
            states: The cases.
            left_s: What is left of the session's own budget.
        """
        if not self.saves or self.mode == "off":
            return
        wanted = [state for state in states if can_be_profiled(state) and _lacks_profiles(state)]
        left = self._in_groups(wanted, self._profile_together, left_s)
        if left:
            self.display.announce(
                f"{counted(len(left), 'case')} saved without a profile, because the {BUDGET_S:.0f} s for profiles are "
                "used up: a later change of these is not explained"
            )

    # -- how ------------------------------------------------------------------------------------

    def _change(self, state: CaseState) -> Change:
        change = change_to_explain(state, self.mode)
        assert change is not None, "only cases with a change are chosen"
        return change

    def _in_groups(
        self, states: Sequence[CaseState], work: Callable[[Sequence[CaseState]], None], left_s: float
    ) -> Sequence[CaseState]:
        """Work on cases in groups that fit into the time; return those that there is no time for."""
        clock, left = self.clock(), list(states)
        began_ns, done = clock.now_ns(), 0
        while left:
            spent_s = (clock.now_ns() - began_ns) / NS_PER_S
            count = fitting(len(left), done, spent_s, min(BUDGET_S, left_s))
            if not count:
                break
            members, left = left[:count], left[count:]
            work(members)
            done += count
        return left

    def _runs_old_code(self, state: CaseState) -> bool:
        """Return whether the old code of a case can be profiled now."""
        return self.in_turns and state.target is not None and is_this_machine(state.target)

    def _profile_together(self, members: Sequence[CaseState]) -> None:
        taken = self._take(members, ALONE, {state.index: iterations_of(state, None) for state in members})
        for state in members:
            _keep_profiles(state, taken[state.index].new)

    def _explain_together(self, members: Sequence[CaseState]) -> None:
        changes = {state.index: self._change(state) for state in members}
        wanted = {state.index: iterations_of(state, changes[state.index].metric) for state in members}
        taken: dict[int, _Profiles] = {}
        for sides in (IN_TURNS, ALONE):
            group = [state for state in members if self._runs_old_code(state) is (sides is IN_TURNS)]
            taken.update(self._take(group, sides, wanted))
        for state in members:
            self._conclude(state, changes[state.index], taken[state.index])

    def _conclude(self, state: CaseState, change: Change, profiles: _Profiles) -> None:
        """Write down what the profiles of a case show of its change."""
        _keep_profiles(state, profiles.new, profiles.old)
        old = merge(profiles.old) if profiles.old else saved_profile(state, change.metric)
        if profiles.problem is not None or old is None or not profiles.new:
            self._note(state, profiles.problem or NOT_SHOWN)
            return
        measured = MeasuredChange(
            metric=change.metric, delta_ns=(change.delta or 0.0) * NS_PER_MS, in_turns=self._runs_old_code(state)
        )
        _write(state, explain(old, merge(profiles.new), measured))

    def _note(self, state: CaseState, reason: str) -> None:
        _write(state, Explanation(metric=self._change(state).metric, reason=reason))

    def _take(
        self, members: Sequence[CaseState], sides: Sequence[bool], wanted: Mapping[int, Mapping[str, int]]
    ) -> Mapping[int, _Profiles]:
        """Profile cases in one process start after the other; a case that fails in one is left out of the others.

        Args:
            members: The cases.
            sides: Which code each process start runs.
            wanted: Iterations of each metric that is profiled, by the index of the case.
        """
        taken = {state.index: _Profiles() for state in members}
        for at, old in enumerate(sides):
            going = [state for state in members if taken[state.index].problem is None]
            if not going:
                break
            self.display.stage(f"where the time went, start {at + 1} of {len(sides)}", len(going))
            for batch in batches_of(going, at, len(sides), wanted):
                self._take_start(batch, taken, old=old)
        return taken

    def _take_start(self, batch: Batch, taken: Mapping[int, _Profiles], *, old: bool) -> None:
        try:
            for found in self.launchers.profile(batch, old=old):
                self._add(taken[found.state.index], found, old=old)
        except DevperfError as error:
            for member in batch.members:
                taken[member.state.index].problem = f"not known: {error.what}"

    def _add(self, profiles: _Profiles, found: StartFound, *, old: bool) -> None:
        code, result = "the old code" if old else "the new code", found.result
        if found.problem is not None:
            profiles.problem = f"not known: {found.problem.what}"
            return
        if result is None or result.start is None:
            profiles.problem = f"not known: the interpreter that profiled {code} did not finish this case"
            return
        outcome = self.reporter.read_outcome(result.reports)
        if not outcome.passed:
            profiles.problem = f"not known: with {code} under the profiler the test did not pass ({outcome.reason})"
            return
        (profiles.old if old else profiles.new).extend(result.start.profiles)


def _write(state: CaseState, explanation: Explanation) -> None:
    """Add an explanation to the comparison of a case."""
    assert state.comparison is not None
    assert state.record is not None
    state.comparison = msgspec.structs.replace(state.comparison, explanation=explanation)
    state.record = msgspec.structs.replace(state.record, comparison=state.comparison)


def _keep_profiles(state: CaseState, new: Sequence[Profile], old: Sequence[Profile] = ()) -> None:
    """Add the profiles of the new code to the record, and those of the old code if it ran, too."""
    if state.record is not None and new:
        state.record = msgspec.structs.replace(state.record, profiles=_by_metric(new), profiles_before=_by_metric(old))


def _by_metric(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """Merge the profiles of each metric."""
    by_metric: dict[str, list[Profile]] = {}
    for profile in profiles:
        by_metric.setdefault(profile.metric, []).append(profile)
    return tuple(map(merge, by_metric.values()))


def _lacks_profiles(state: CaseState) -> bool:
    """Return whether a case has times, and nothing shows yet where they go."""
    return state.record is not None and not state.record.profiles and bool(iterations_of(state, None))
