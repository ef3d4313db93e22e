"""Replay recorded sessions of a real machine: `python -m benchmarks.verdicts.replay FOLDER`.

A recording (`benchmarks.verdicts.recording`) contains more process starts of unchanged code than any comparison needs,
so that every request of the rule can be met. Each session is compared with every other one as its saved run, unchanged
and slowed down by multiplying its times. The truth is known, and the noise is a real machine's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.verdicts.table import laid_out
from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.history import Baseline, BaselineRun
from pytest_devperf.compare.in_turns.case import judge_in_turns
from pytest_devperf.compare.looks import FIRST_STARTS, SAVED_STARTS
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.bound import early_bound_ns
from pytest_devperf.compare.stopping.decision import (
    Judged,
    MoreStarts,
    next_in_turns,
    next_of_comparison,
    next_of_saving,
)
from pytest_devperf.measure.loop import enough
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.measure.undisturbed import earlier_of
from pytest_devperf.metric import LATENCY, time_metric
from pytest_devperf.record.measurement import time_measurement, with_confirmation
from pytest_devperf.record.record import DeviceRecord, Measurement, Record, WorkloadRecord
from pytest_devperf.sensor.run_context import RunContext

SLOWER = (0.0, 0.03, 0.05, 0.10, 0.25)
"""Slowdowns of the code, as fractions."""

DEVICE = DeviceRecord(fingerprint="recorded", kind="host")

METRICS = 16
"""Metrics that are judged together, as in a suite of that many cases."""


class Recording:
    """One session: a saved run, a compared one, and pairs of process starts, all of unchanged code."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self._arrays: Mapping[str, Any] = dict(np.load(path))
        shown = json.loads(str(self._arrays["meta"][0]))
        self.inner_loops: Mapping[str, int] = shown["inner"]
        self.tick_ns: float = shown["tick"]

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """Names of the measured cases."""
        return tuple(self.inner_loops)

    def start(self, kind: str, number: int, case: str, slower: float = 0.0) -> tuple[Round, ...] | None:
        """Return the rounds of one process start, slowed down by a fraction; None after the last."""
        key = f"{kind}/{number}/{case}"
        if f"{key}/s" not in self._arrays:
            return None
        factor, loops = 1 + slower, self.inner_loops[case]
        return tuple(
            Round(
                process=number,
                samples_ns=tuple((factor * samples / loops).tolist()),
                anchor_ns=float(anchor) or None,
                cpu_ns=int(factor * clocks[0]) or None,
                waited_ns=int(factor * clocks[1]),
                wall_ns=int(factor * clocks[2]) or None,
            )
            for samples, anchor, clocks in zip(*(self._arrays[f"{key}/{each}"] for each in "sac"), strict=True)
        )

    def start_result(self, rounds: Sequence[Round], case: str, stop: str = "done") -> StartResult:
        """Wrap rounds in the result of a process start."""
        return StartResult(
            rounds=tuple(rounds),
            iterations=len(rounds[0].samples_ns),
            inner_loops=self.inner_loops[case],
            total_rounds=Plan().rounds,
            tick_ns=self.tick_ns / self.inner_loops[case],
            stop="early-pass" if stop == "early-pass" else "done",
        )


@dataclass(slots=True)
class Tally:
    """The results of all replays."""

    cases: Counter[float] = field(default_factory=Counter)
    failed: Counter[float] = field(default_factory=Counter)
    unjudged: Counter[float] = field(default_factory=Counter)
    iterations: int = 0
    starts: int = 0
    """Of unchanged code."""
    alarms: list[str] = field(default_factory=list)

    def add(self, slower: float, verdict: str, rounds: Sequence[Round], starts: int, words: str) -> None:
        """Count one replay."""
        self.cases[slower] += 1
        self.failed[slower] += verdict == "regressed"
        self.unjudged[slower] += verdict in {"inconclusive", "incomparable"}
        if not slower:
            self.iterations += sum(len(each.samples_ns) for each in rounds)
            self.starts += starts
            if verdict == "regressed":
                self.alarms.append(words)

    def row(self, words: str) -> list[str]:
        """Format a row."""
        count = max(1, self.cases[0.0])
        shares = [f"{100 * self.failed[slower] / max(1, self.cases[slower]):.1f} %" for slower in SLOWER]
        unjudged = f"{100 * self.unjudged[0.0] / count:.1f} %"
        return [words, str(count), *shares, unjudged, f"{self.iterations / count:.0f}", f"{self.starts / count:.1f}"]


HEAD = ["", "cases", "unchanged, failed", *(f"+{100 * each:.0f} %" for each in SLOWER[1:])]
HEAD += ["not judged", "iterations", "starts"]


def record_of(metric: Measurement, processes: int) -> Record:
    """Make a case of one metric."""
    return Record(
        id=metric.name,
        workload=WorkloadRecord(fingerprint="recorded", kind="call"),
        metrics=(metric,),
        iterations=len(metric.samples_ns[0]) if metric.samples_ns else None,
        processes=processes,
        run_context=RunContext(anchor="recorded"),
    )


def saved(before: Recording, case: str, policy: Policy) -> Baseline:
    """Save a case as a session would, with more process starts if they differ."""
    plan, start_results = Plan(processes=SAVED_STARTS), []
    record = None
    while isinstance(decision := next_of_saving(record, policy, plan), MoreStarts):
        found = [before.start("save", len(start_results) + nth, case) for nth in range(len(decision.rounds))]
        taken = [each for each in found if each is not None]
        start_results += [before.start_result(each[:1], case) for each in taken]
        record = record_of(time_measurement(time_metric(LATENCY), start_results, main=True), plan.processes)
        if len(taken) < len(found):
            break
    assert record is not None
    run = BaselineRun(run_id=before.name, taken_at="2026-01-01T00:00:00Z", commit=None, settings={}, record=record)
    return Baseline(case_id=record.id, device=DEVICE, same_device=True, runs=(run,))


@dataclass(slots=True)
class Comparing:
    """A case on its way to a verdict."""

    now: Recording
    case: str
    slower: float
    baseline: Baseline
    policy: Policy
    first: list[StartResult] = field(default_factory=list)
    again: list[StartResult] = field(default_factory=list)

    @property
    def record(self) -> Record | None:
        """The measurements so far."""
        if not self.first:
            return None
        metric = time_measurement(time_metric(LATENCY), self.first, main=True)
        return record_of(with_confirmation(metric, self.again) if self.again else metric, FIRST_STARTS)

    def verdict(self) -> str:
        """Take the requested starts, until there are no more requests or no more starts."""
        plan = Plan(processes=FIRST_STARTS)
        while isinstance(decision := next_of_comparison(self.record, self.baseline, self.policy, plan), MoreStarts):
            look = self.first if decision.role == "first" else self.again
            # A first look may end after any start; later ones are judged when they are over.
            asked = decision.rounds[:1] if decision.role == "first" else decision.rounds
            for rounds in asked:
                if not self._take(rounds, look, confirming=decision.role != "first"):
                    return "suspect"
                if look[-1].stop == "early-pass":
                    break
        assert isinstance(decision, Judged)
        return decision.comparison.verdict

    def _take(self, asked: int, look: list[StartResult], *, confirming: bool) -> bool:
        number = len(self.first) + len(self.again)
        rounds = self.now.start("comp", number, self.case, self.slower)
        if rounds is None:
            return False
        bound_ns = early_bound_ns(
            self.baseline, LATENCY, self.policy, Plan().rounds, starts=FIRST_STARTS, confirming=confirming
        )
        kept: list[Round] = []
        stop = None
        for taken in rounds[:asked]:
            kept.append(taken)
            stop = enough(earlier_of([*look, self.now.start_result(kept, self.case)]), bound_ns, None)
            if stop is not None:
                break
        look.append(self.now.start_result(kept, self.case, stop or "done"))
        return True


def compare_all(recordings: Sequence[Recording], policy: Policy) -> Tally:
    """Compare every recording with every other as its saved run."""
    tally = Tally()
    for before, now in permutations(recordings, 2):
        for case in set(before.cases) & set(now.cases):
            if before.inner_loops[case] != now.inner_loops[case]:
                continue
            baseline = saved(before, case, policy)
            for slower in SLOWER:
                one = Comparing(now, case, slower, baseline, policy)
                verdict = one.verdict()
                start_results = (*one.first, *one.again)
                rounds = [taken for result in start_results for taken in result.rounds]
                tally.add(slower, verdict, rounds, len(start_results), f"{case}: {before.name} -> {now.name}")
    return tally


def in_turns(recordings: Sequence[Recording], policy: Policy) -> Tally:
    """Judge every recording's pairs of process starts."""
    tally = Tally()
    for now in recordings:
        most = sum(now.start("old", number, now.cases[0]) is not None for number in range(100))
        for case in now.cases:
            for slower in SLOWER:
                verdict, old, new = _turns(now, case, slower, policy, most)
                rounds = [taken for result in (*old, *new) for taken in result.rounds]
                tally.add(slower, verdict, rounds, len(old) + len(new), f"{case}: {now.name}")
    return tally


def _turns(
    now: Recording, case: str, slower: float, policy: Policy, most: int
) -> tuple[str, list[StartResult], list[StartResult]]:
    sides: tuple[list[StartResult], list[StartResult]] = ([], [])
    so_far = None
    while (asked := next_in_turns(so_far)) is not None:
        for count in asked.rounds:
            for kind, side, factor in (("old", sides[0], 0.0), ("new", sides[1], slower)):
                rounds = now.start(kind, len(side), case, factor)
                assert rounds is not None
                side.append(now.start_result(rounds[:count], case))
        old, new = (time_measurement(time_metric(LATENCY), side, main=True) for side in sides)
        so_far = judge_in_turns([new], [old], policy, most=most)
    assert so_far is not None
    return so_far.changes[0].verdict, *sides


def rows(recordings: Sequence[Recording]) -> Iterator[list[str]]:
    """Replay in all ways, and format the results."""
    policy = Policy(metrics=METRICS)
    yield compare_all(recordings, policy).row("one saved run")
    yield compare_all(recordings, replace(policy, iqr="within")).row("the same, --devperf-iqr=within")
    yield in_turns(recordings, policy).row("in turns")


def main(argv: list[str]) -> int:
    """Replay and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts.replay", description=__doc__)
    parser.add_argument("recordings", nargs="+", type=Path, metavar="FILE", help="recordings, two at least")
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args(argv)
    print(laid_out([HEAD, *rows([Recording(path) for path in chosen.recordings])], markdown=chosen.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
