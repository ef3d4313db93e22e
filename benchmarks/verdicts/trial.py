"""One trial: a machine saves a suite, then compares it unchanged and slowed down, under every rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.verdicts import peers
from benchmarks.verdicts.devices import kind_named
from benchmarks.verdicts.paired import paired_session
from benchmarks.verdicts.session import Bench, Outcome, Rules, bench, compare_session, measure_fully, save
from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import gather
from pytest_devperf.compare.looks import FIRST_STARTS
from pytest_devperf.compare.policy import Policy
from pytest_devperf.metric import LATENCY
from pytest_devperf.record.record import Record, Run

EFFECTS = (0.03, 0.05, 0.10)
"""Real slowdowns of the code; a third of a suite gets each."""

OURS: Mapping[str, Rules] = {
    "devperf": Rules(),
    "devperf, as many starts for all": Rules(more=False),
    "devperf, no anchor": Rules(policy=Policy(anchor=False)),
    "devperf, no confirmation": Rules(policy=Policy(confirm=False)),
}
"""The default rule, and the rule without each of its parts."""

PAIRED = "devperf, paired"
"""Old and new code in turns; it needs no saved run."""

LITERAL: Mapping[str, Policy] = {
    "literal rule, IQR within rounds": Policy(rule="iqr"),
    "literal rule, IQR of all samples": Policy(rule="iqr", iqr="pooled"),
}

OWN_STARTS: Mapping[str, int] = {"pyperf t-test": 12, "asv": 2}
"""Process starts of one run when a peer measures in its own way; the others stay in one process.

pyperf starts 20 processes by default; here the same 12 rounds are given one process each.
"""


@dataclass(slots=True)
class Score:
    """The results of a rule in some trials."""

    cases: Counter[float] = field(default_factory=Counter)
    """Cases by truth."""
    failed: Counter[float] = field(default_factory=Counter)
    """Of these, those that it failed."""
    runs: int = 0
    """Whole runs of unchanged code."""
    alarmed: int = 0
    """Of these, those with at least one failed test."""
    iterations: int = 0
    """Iterations of the candidate in unchanged runs."""
    stopped: Counter[str] = field(default_factory=Counter)
    """Why real changes of 5 % were not found: a step of the rule, or the threshold."""

    def add(self, other: Score) -> None:
        """Add another score."""
        self.cases.update(other.cases)
        self.failed.update(other.failed)
        self.stopped.update(other.stopped)
        self.runs += other.runs
        self.alarmed += other.alarmed
        self.iterations += other.iterations

    def percent_failed(self, truth: float) -> float:
        """Return the percentage of cases of a truth that failed."""
        return 100 * self.failed[truth] / max(1, self.cases[truth])

    @property
    def alarmed_percent(self) -> float:
        """Percentage of unchanged runs with at least one failed test."""
        return 100 * self.alarmed / max(1, self.runs)

    @property
    def iterations_each(self) -> float:
        """Mean iterations of an unchanged case."""
        return self.iterations / max(1, self.cases[0.0])


def mixed_truth(on: Bench, seed: int) -> dict[str, float]:
    """Give every case of a suite one of the effects, in an order that changes with the seed."""
    return {case.id: EFFECTS[(index + seed) % len(EFFECTS)] for index, case in enumerate(on.cases)}


def try_rules(on: Bench, runs: Sequence[Run], seed: int, rules: Mapping[str, Rules]) -> dict[str, Score]:
    """Compare unchanged and slower code, under each rule from the same state of the machine."""
    scores: dict[str, Score] = {}
    for name, rule in rules.items():
        score = scores[name] = Score()
        unchanged = compare_session(on.fork(), runs, {}, rule)
        score.iterations += sum(outcome.iterations for outcome in unchanged)
        _count(score, ((0.0, outcome.failed) for outcome in unchanged))
        changed = compare_session(on.fork(), runs, mixed_truth(on, seed), rule)
        _count(score, ((outcome.slower, outcome.failed) for outcome in changed))
        score.stopped.update(
            _kept_from(outcome) for outcome in changed if outcome.slower == 0.05 and not outcome.failed
        )
    return scores


def try_paired(on: Bench, seed: int) -> dict[str, Score]:
    """Measure old and new code in turns, unchanged and slower."""
    score = Score()
    unchanged = paired_session(on.fork(), {})
    score.iterations += sum(outcome.iterations for outcome in unchanged)
    _count(score, ((0.0, outcome.failed) for outcome in unchanged))
    changed = paired_session(on.fork(), mixed_truth(on, seed))
    _count(score, ((outcome.slower, outcome.failed) for outcome in changed))
    missed = (outcome for outcome in changed if outcome.slower == 0.05 and not outcome.failed)
    score.stopped.update(outcome.comparison.changes[0].decided_by or "threshold" for outcome in missed)
    return {PAIRED: score}


def _kept_from(outcome: Outcome) -> str:
    change = outcome.comparison.changes[0]
    return change.stopped_by or "threshold"


def _count(score: Score, found: Iterable[tuple[float, bool]]) -> None:
    """Count cases and failures; unchanged ones make a separate run."""
    alarmed, unchanged = False, False
    for truth, failed in found:
        score.cases[truth] += 1
        score.failed[truth] += failed
        unchanged |= truth == 0
        alarmed |= truth == 0 and failed
    score.runs += unchanged
    score.alarmed += alarmed


Verdicts = Mapping[str, Callable[[Record, Record], bool]]
"""(baseline, candidate) -> whether it would be called slower, by the rule's name."""


def _on_samples(rule: peers.Rule) -> Callable[[Record, Record], bool]:
    return lambda base, now: rule(_samples(base), _samples(now))


def _samples(record: Record) -> peers.Samples:
    return np.array(record.metrics[0].samples_ns, dtype=float)


def try_full(base: Iterable[Record], on: Bench, seed: int, starts: int, verdicts: Verdicts) -> dict[str, Score]:
    """Let rules without an early pass judge full runs of unchanged and of slower code."""
    before = {record.id: record for record in base}
    scores = {name: Score() for name in verdicts}
    for truth in ({}, mixed_truth(on, seed)):
        records = measure_fully(on.fork(), truth, starts)
        for name, verdict in verdicts.items():
            _count(scores[name], [(truth.get(one.id, 0.0), verdict(before[one.id], one)) for one in records])
            if not truth:
                scores[name].iterations += sum(
                    map(len, (row for one in records for row in one.metrics[0].samples_ns or ()))
                )
    return scores


def _literal(run: Run) -> Verdicts:
    """Judge by the plugin's own `--devperf-rule=iqr`; only the latency of a case, as the peers do."""

    def judge(policy: Policy) -> Callable[[Record, Record], bool]:
        def verdict(base: Record, now: Record) -> bool:
            baseline = gather([run], base.id, run.device.fingerprint)
            changes = compare(now, baseline, policy).changes
            return any(change.metric == LATENCY and change.verdict == "regressed" for change in changes)

        return verdict

    return {name: judge(policy) for name, policy in LITERAL.items()}


def try_peers(on: Bench, run: Run, seed: int) -> dict[str, Score]:
    """Let the literal rule and the peers judge the plugin's samples: 12 starts against 6."""
    verdicts = {**_literal(run), **{name: _on_samples(rule) for name, rule in peers.RULES.items()}}
    return try_full(run.cases, on, seed, FIRST_STARTS, verdicts)


def try_peers_own_way(on: Bench, seed: int) -> dict[str, Score]:
    """Let the peers judge samples taken in their own way: mostly all in one process."""
    scores: dict[str, Score] = {}
    for starts in sorted({1, *OWN_STARTS.values()}):
        names = [name for name in peers.RULES if OWN_STARTS.get(name, 1) == starts]
        there = on.fork()
        base = measure_fully(there, {}, starts)
        verdicts = {name: _on_samples(peers.RULES[name]) for name in names}
        scores.update({f"{name}, own way": s for name, s in try_full(base, there, seed, starts, verdicts).items()})
    return scores


def trial(
    name: str, seed: int, saved: int, *, with_peers: bool, with_pairs: bool, ours: Mapping[str, Rules]
) -> dict[str, Score]:
    """Run one trial on a separate machine.

    Args:
        name: The kind of device.
        seed: Of machine, suite and truth.
        saved: Saved runs in the baseline.
        with_peers: Whether the peers' rules are tried, too.
        with_pairs: Whether old and new code are measured in turns, too.
        ours: Which of our own rules are tried.
    """
    on = bench(kind_named(name), seed)
    runs = [save(on, Rules()) for _ in range(saved)]
    scores = try_rules(on, runs, seed, ours)
    if with_pairs:
        # A machine without a past, whatever was saved above, so that turns have the same rates in every table.
        scores.update(try_paired(bench(kind_named(name), seed), seed))
    if with_peers:
        scores.update(try_peers(on, runs[-1], seed))
        scores.update(try_peers_own_way(on, seed))
    return scores
