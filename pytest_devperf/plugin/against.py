"""Old and new code in turns on one machine (`--devperf-against`): a comparison that needs no saved run.

The old code lives in another environment with an interpreter of its own. Start 1 runs the new code here, as
ever, to learn what there is to measure and how often it has to be called; what is compared comes from pairs
of fresh interpreters that alternate round by round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_devperf.compare.paired import PAIRS, ROUNDS_EACH
from pytest_devperf.errors import DevperfError
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.plugin.campaign import Campaign
from pytest_devperf.plugin.fresh import HERE, Environment, Found, last_words, run_pass, settled
from pytest_devperf.plugin.judge import in_turns
from pytest_devperf.plugin.ledger import SOLO_STARTS, Entry
from pytest_devperf.plugin.outcome import rebuild
from pytest_devperf.plugin.passes import Passes, solo_stage
from pytest_devperf.plugin.probe import probe
from pytest_devperf.plugin.side import compare_sides, with_old_side
from pytest_devperf.plugin.turns import NEW, OLD, run_pair
from pytest_devperf.report.header import plan_words

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.plugin.probe import Probed
    from pytest_devperf.plugin.start import CaseStart, Role
    from pytest_devperf.record.record import Comparison, Record

READY = 1
"""Rounds of each side in a pair that are not kept: both get ready before the turns begin."""


@dataclass(slots=True, kw_only=True)
class PairedEntry(Entry):
    """A case with two sides."""

    olds: list[CaseStart] = field(default_factory=list)
    """What the starts of the old code gave."""
    pairs_done: int = 0
    no_old: str | None = None
    """Why there is no old side to compare with."""
    pairs: int = PAIRS

    """How many pairs of process starts there are."""

    def calibrate(self) -> None:
        """Plan as many pairs of process starts as the budget has room for, by what start 1 took."""
        fitted = min((each[0].total_rounds for each in self.start_results().values()), default=0)
        if fitted:
            self.pairs = min(self.pairs, max(1, fitted // (2 * (ROUNDS_EACH + READY))))

    @property
    def processes(self) -> int:
        """Pairs of process starts."""
        return self.pairs

    @property
    def solo_starts(self) -> int:
        """Starts of each side that take load and memory."""
        return SOLO_STARTS if self.starts and self.starts[0].solo else 0

    def without_calibration(self) -> None:
        """Leave out what is not compared: start 1, and the rounds in which a side got ready."""
        if not self.calibrated:
            self.starts = [_kept(start, self.pairs) for start in self.starts[1:]]
            self.olds = [_kept(start, self.pairs) for start in self.olds]
            self.calibrated = True

    calibrated: bool = False

    def first_plan(self, metric: str) -> StartPlan:  # noqa: ARG002 - every metric is calibrated alike
        """Tell what start 1 does: calibrate, and fit the pairs into the budget."""
        return StartPlan(
            process=0,
            rounds=1,
            total_rounds=self.pairs * 2 * (ROUNDS_EACH + READY),
            processes=2 * self.pairs,
            iterations=self.case.plan.iterations,
        )

    def start_plans(self, process: int, role: Role) -> dict[str, StartPlan]:
        """Tell what both sides of a pair do."""
        if role == "solo":
            return {}
        return {
            metric: StartPlan(
                process=process,
                rounds=ROUNDS_EACH + READY,
                total_rounds=start_results[0].total_rounds,
                processes=self.processes,
                iterations=start_results[0].iterations,
                inner_loops=start_results[0].inner_loops,
                fixed=True,
            )
            for metric, start_results in self.start_results().items()
            if start_results[0].stop != "too-slow"
        }

    def keep_old(self, start: CaseStart) -> None:
        """Keep what a start of the old code gave; other inputs are no reason to fail, but cannot be compared."""
        try:
            self.check_digests(start)
        except DevperfError:
            self.no_old = "the old code has other inputs or arguments than the new code"
        if start.facts != self.starts[0].facts:
            self.no_old = "the facts given to devperf.workload differ between the old and the new code"
        self.olds.append(start)


class Sides(Passes):
    """Gives cases their pairs of process starts, and the solo starts of both sides."""

    def run_pairs(self, entries: Sequence[PairedEntry], old: Environment) -> set[str]:
        """Measure all cases in turns, pair by pair.

        Returns:
            Modules that the old side imported from this checkout.
        """
        modules: set[str] = set()
        for pair in range(max((entry.processes for entry in entries), default=0)):
            waiting = [entry for entry in entries if _wants_pair(entry, pair)]
            while waiting:
                modules |= self._pair(waiting, pair, old)
                left = [entry for entry in waiting if _wants_pair(entry, pair)]
                waiting = left if len(left) < len(waiting) else []
        for entry in entries:
            for solo in range(entry.solo_starts):
                if not entry.logged and entry.no_old is None:
                    self._solo(entry, entry.processes + 1 + solo, old)
        return modules

    def _pair(self, entries: Sequence[PairedEntry], pair: int, old: Environment) -> set[str]:
        """One pair of process starts; a case after one that killed its interpreter is left for another pair."""
        assert entries[0].target is not None
        self._shows.stage(f"pair {pair + 1} of {max(entry.processes for entry in entries)}", len(entries))
        self._waited = self._cooler.before_pass(entries[0].target, entries[0].case.plan)
        prerun = self._places.prerun(entries[0].target)
        found = run_pair(self._config, entries, pair=pair, old=old, on_event=self._shows.event)
        unlucky = any(_fell(each) for side in found.found.values() for each in side.values())
        for entry in entries:
            here, there = found.found[NEW][entry.index], found.found[OLD][entry.index]
            fell = _fell(here) or _fell(there)
            if unlucky and not fell and not (settled(here) and settled(there)):
                continue
            entry.pairs_done = pair + 1
            self._take_old(entry, there, crashed=fell or OLD in found.crashed)
            if settled(here) or here.begun or NEW in found.crashed:
                self._take(entry, here, pair + 1, prerun)
        return set(found.modules)

    def _take_old(self, entry: PairedEntry, there: Found, *, crashed: bool) -> None:
        """Take what the old side of a case came to."""
        reason = self._no_old(there) if settled(there) or crashed else None
        if reason is None and there.start is not None:
            entry.keep_old(there.start)
        elif reason is not None:
            entry.no_old = reason

    def _solo(self, entry: PairedEntry, process: int, old: Environment) -> None:
        """Take load and memory of both sides, each alone."""
        self._shows.stage(solo_stage(entry, process - entry.processes - 1), 2)
        for side in (old, HERE) if process % 2 else (HERE, old):
            found = run_pass(
                self._config,
                [entry],
                process=process,
                role="solo",
                seed=self._seed,
                on_event=self._shows.event,
                environment=side,
            )[entry.index]
            if side is HERE:
                self._take(entry, found, process, None)
            else:
                entry.no_old = self._no_old(found)
                if found.start is not None:
                    entry.olds.append(found.start)
            if entry.no_old is not None:
                return

    def _no_old(self, found: Found) -> str | None:
        """Say why the old side has nothing to compare with; None where it has."""
        if found.absent:
            return "the old environment does not collect this test"
        if found.start is None:
            lines = last_words(found.died or "").strip().splitlines()
            told = next((line for line in lines if line.startswith("E ")), lines[-1] if lines else "")
            did = "died in this case" if found.begun else "did not run this case"
            return f"the interpreter of the old code {did}: {told.removeprefix('E ').strip()}"
        for report in rebuild(self._config, found.reports):
            if not report.passed:
                crash = getattr(report.longrepr, "reprcrash", None)
                text = crash.message if crash is not None else report.longreprtext
                word = "is skipped" if report.skipped else "fails"
                return f"the test {word} with the old code: {text.strip().partition(chr(10))[0]}"
        return None


def _fell(found: Found) -> bool:
    """Whether an interpreter died in this very case."""
    return found.begun and not settled(found)


def _wants_pair(entry: PairedEntry, pair: int) -> bool:
    return not entry.logged and entry.no_old is None and entry.pairs_done <= pair < entry.processes


class Against(Campaign):
    """The hooks of a session that compares with the code of another environment, in turns."""

    hosts_apps = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ending = False
        self._probed: Probed | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take the cases up, and refuse an interpreter that cannot serve before anything is measured."""
        super().pytest_collection_finish(session)
        if self.ledger.entries:
            assert self.options.against is not None
            self._probed = probe(self.options.against, self.config.invocation_params.dir)

    def entry(self, item: pytest.Item, nth: int, case: Case) -> Entry:
        """Take a case up with two sides."""
        return PairedEntry(
            index=len(self.ledger.entries),
            item=item,
            nth=nth,
            case=case,
            converge=False,
            early=False,
            policy=self.baselines.policy(case),
            pairs=case.plan.processes if "processes" in case.named else PAIRS,
        )

    def plan_words(self) -> str:
        """Describe how much of the selected cases is measured."""
        planned = [replace(entry.planned(), rounds=ROUNDS_EACH) for entry in self.ledger]
        return plan_words(planned, on="on each side of {starts} of process starts", starts="pair")

    def first_stage(self, entry: Entry) -> str:  # noqa: ARG002 - every case begins alike
        """Describe start 1 of a case for the live line."""
        return "calibrating"

    def judge(self, entry: Entry) -> None:
        """Report a case once its pairs are over, or at once where it failed."""
        if self._ending or not entry.passed_or_strict or not entry.measured:
            super().judge(entry)

    def finish(self, pending: Sequence[Entry]) -> None:
        """Measure in turns what runs on this machine, and report every case."""
        if self._probed is None:
            return  # nothing was selected
        here = [entry for entry in pending if isinstance(entry, PairedEntry) and _runs_here(entry)]
        for entry in here:
            entry.calibrate()
        modules = self.passes(Sides).run_pairs(here, self._probed.environment)
        if modules:
            self.places.notes.append(_imported(sorted(modules)))
        self._ending = True
        for each in pending:
            if not each.logged:
                super().judge(each)

    def _record(self, entry: Entry) -> Record:
        assert isinstance(entry, PairedEntry)
        if entry.passed_or_strict and entry.pairs_done:
            entry.without_calibration()
        return with_old_side(super()._record(entry), entry.olds)

    def _compare(self, entry: Entry, record: Record) -> Comparison | None:
        assert isinstance(entry, PairedEntry)
        if not entry.measured:
            return None
        if in_turns(entry):
            return super()._compare(entry, record)
        reason = entry.no_old
        if not _runs_here(entry):
            assert entry.target is not None
            reason = f"{entry.target.device.name} cannot run Python from another environment: use devperf.paired there"
        return compare_sides(record, entry.olds, entry.policy, reason=reason, note=self._note())

    def _note(self) -> str:
        assert self._probed is not None
        return f"old code in turns: {self._probed.words}"


def _runs_here(entry: Entry) -> bool:
    """Whether its Python runs on this machine, and it does not take turns by itself (`devperf.paired`)."""
    return not in_turns(entry) and entry.target is not None and entry.target.device.kind == "host"


def _kept(start: CaseStart, pairs: int) -> CaseStart:
    timed = []
    for each in start.timed:
        rounds = each.start_result.rounds[READY:]
        start_result = replace(each.start_result, rounds=rounds, total_rounds=pairs * ROUNDS_EACH, stop="done")
        timed.append(msgspec.structs.replace(each, start_result=start_result))
    return msgspec.structs.replace(start, timed=timed)


NAMED_MODULES = 3
"""Modules that a note names; the others are counted."""


def _imported(modules: Sequence[str]) -> str:
    """Say what both sides shared, so that nobody takes new code held against new code for a comparison."""
    named = ", ".join(modules[:NAMED_MODULES])
    more = f" and {len(modules) - NAMED_MODULES} more" if len(modules) > NAMED_MODULES else ""
    return (
        f"the old side also imported {named}{more} from this checkout, so changes in there were not compared "
        "(a src layout, --import-mode=importlib, or the pytest script instead of python -m pytest keeps them apart)"
    )
