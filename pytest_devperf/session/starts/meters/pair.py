"""Measure two commands or two models in turns within one test (`devperf.paired`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_devperf.case.workload import Command, Model, Workload
from pytest_devperf.compare.in_turns.metric import USUAL_PAIRS
from pytest_devperf.compare.in_turns.pairs import READY, ROUNDS, ready_iterations, turns_and_ready
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.measure.turns import Sides, run_turns
from pytest_devperf.metric import EXECUTE, LATENCY, time_metric
from pytest_devperf.session.starts.meters.bench import Bench
from pytest_devperf.session.starts.start import Timed
from pytest_devperf.targets.awaited import result_of
from pytest_devperf.targets.protocol import Surveying, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class PairProbe:
    """Two workloads that were measured in turns as one metric."""

    name: str
    old: Workload
    new: Workload

    def repeat(self, bench: Bench, target: Target) -> None:
        """Measure again, in another process start."""
        bench.notes.target = target
        _take_turns(bench, target, self)


def measure_paired(bench: Bench, old: Workload, new: Workload) -> Any:  # noqa: ANN401 - outputs by name
    """Measure both in turns, every method of the new one; return the new one's outputs."""
    is_command = isinstance(new, Command)
    target = bench.enter(new, LATENCY if is_command else EXECUTE)
    bench.start.solo = bench.start.countable = False  # only their times are measured
    if not (isinstance(old, Model) and isinstance(new, Model)):
        return _measure(bench, target, PairProbe(name=LATENCY, old=old, new=new))
    outputs = None
    for method in _shared_methods(bench, target, old, new):
        pair = PairProbe(name=f"{EXECUTE}.{method}", old=replace(old, method=method), new=replace(new, method=method))
        outputs = _measure(bench, target, pair)
    return outputs


def _shared_methods(bench: Bench, target: Target, old: Model, new: Model) -> Sequence[str]:
    if not isinstance(target, Surveying):
        return ("forward",)
    before, survey = target.survey(old), target.survey(new)
    bench.notes.add_survey(survey)
    shared = [method for method in survey.methods if method in before.methods]
    if not shared:
        before.require_method()
        raise Unsupported("the two models share no method that can be executed")
    if before.inputs != survey.inputs:
        raise CaseError(
            f"{bench.case.id}: the two models take different inputs",
            "pass dims= or inputs= that suit both",
        )
    return shared


def _measure(bench: Bench, target: Target, pair: PairProbe) -> Any:  # noqa: ANN401 - outputs by name
    bench.notes.claim(pair.name)
    bench.probes.append(pair)
    return _take_turns(bench, target, pair)


def _take_turns(bench: Bench, target: Target, pair: PairProbe) -> Any:  # noqa: ANN401 - outputs by name
    """Load both, measure them in turns, and record both sides."""
    if not bench.takes_rounds or bench.orders.role == "profile":
        return None
    start_plan, process = bench.orders.start_plan(pair.name), bench.orders.process
    if start_plan.process == 0:
        start_plan = replace(
            start_plan,
            rounds=READY + ROUNDS,
            total_rounds=USUAL_PAIRS * (READY + ROUNDS),
            processes=USUAL_PAIRS,
            fixed=False,
            inner_loops=None,
            ready=ready_iterations(start_plan.iterations),
        )
    with target.start(pair.old, process) as before, target.start(pair.new, process) as after:
        bench.notes.add_software(after)
        start_results = run_turns(
            Sides(old=before, new=after),
            start_plan,
            bench.case.plan,
            bench.tools.clock,
            order=turns_and_ready(start_plan.process, start_plan.rounds - READY),
            hooks=bench.round_hooks(),
        )
        outputs = result_of(after)
    metric = time_metric(pair.name)
    bench.start.olds.append(Timed(metric=metric, start_result=start_results[0]))
    bench.start.timed.append(Timed(metric=metric, start_result=start_results[1]))
    return outputs
