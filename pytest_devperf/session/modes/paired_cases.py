"""Cases whose tests measure two things in turns by themselves (`devperf.paired`), whatever the session is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace as with_fields

from pytest_devperf.compare.stopping.decision import next_in_turns
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.session.cases.assemble import record_of
from pytest_devperf.session.cases.case_state import CaseState, Look
from pytest_devperf.session.cases.old_side import compare_sides, with_old_side
from pytest_devperf.session.modes.mode import Mode, StartRequest
from pytest_devperf.session.modes.pairs import PairsSoFar, kept, most_pairs, plans_of_pair
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.starts.start import CaseStart, results_of

if TYPE_CHECKING:
    from pytest_devperf.measure.round import StartResult
    from pytest_devperf.record.record import Comparison, Record


class PairedCases:
    """Measures pairs until each case is decided; a process start has both sides of a pair."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._so_far = PairsSoFar()

    def starts(self, state: CaseState) -> int:
        """Count the pairs of process starts at most."""
        return len(state.starts) if state.out_of_time else most_pairs(state, _pair_s(state.starts[0]))

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Ask for the next pair, unless the case is decided."""
        pair, pairs = len(state.starts), self.starts(state)
        so_far = self._so_far.judge(state, state.starts, _olds_of(state.starts), most=pairs)
        more = next_in_turns(so_far) if pair < pairs else None
        if more is None:
            return None
        return StartRequest(
            phase=0,
            place=pair,
            of=pairs,
            what="pair",
            process=pair,
            role="rounds",
            start_plans=plans_of_pair(results_of(state.starts[:1]), process=pair, rounds=more.rounds[0], pairs=pairs),
        )

    def record(self, state: CaseState) -> Record:
        """Put both sides together, without the rounds in which a side got ready."""
        starts = kept(state.starts)
        record = record_of(state, starts, processes=len(starts), busy_cpu_percent=self._settings.busy_cpu_percent)
        return with_old_side(record, kept(_olds_of(state.starts)))

    def compare(self, state: CaseState, record: Record) -> Comparison:
        """Compare both sides; the test's other metrics have nothing to be compared with."""
        shown = tuple(metric for metric in record.metrics if metric.against is not None)
        olds, code = kept(_olds_of(state.starts)), state.starts[0].old_code
        note = None if code is None else f"old code in turns: {code}"
        return compare_sides(with_fields(record, metrics=shown), olds, state.policy, most=self.starts(state), note=note)


@dataclass(frozen=True, slots=True)
class ByCase:
    """The session's mode, but for cases that measure in turns by themselves."""

    usual: Mode
    paired: PairedCases

    def starts(self, state: CaseState) -> int:
        """Count the process starts that take rounds, as far as it is known."""
        return self._of(state).starts(state)

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Name the next process start that a case needs; None: it can be judged."""
        return self._of(state).next_start(state)

    def record(self, state: CaseState) -> Record:
        """Put a case's process starts together.

        Raises:
            CaseError: They contradict one another.
        """
        return self._of(state).record(state)

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Reach a verdict; None: nothing is compared."""
        return self._of(state).compare(state, record)

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:
        """Name the further look that a verdict needs; None: it stands."""
        return None if state.is_paired else self.usual.look_again(state, comparison)

    def _of(self, state: CaseState) -> Mode | PairedCases:
        return self.paired if state.is_paired else self.usual


def _olds_of(starts: Iterable[CaseStart]) -> list[CaseStart]:
    """Return the old sides of pairs as separate starts."""
    return [CaseStart(process=start.process, role=start.role, timed=list(start.olds)) for start in starts if start.olds]


def _pair_s(first: CaseStart) -> float:
    """Return how long the first pair took, its rounds alone."""
    return sum(_taken_ns(each.start_result) for each in (*first.timed, *first.olds)) / NS_PER_S


def _taken_ns(start_result: StartResult) -> float:
    return sum(taken.wall_ns or sum(taken.samples_ns) * start_result.inner_loops for taken in start_result.rounds)
