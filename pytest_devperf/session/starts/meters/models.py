"""Measure models: the time of every method, and load and memory of the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pytest_devperf.case.workload import Model
from pytest_devperf.metric import EXECUTE, LOAD, time_metric
from pytest_devperf.session.starts.loads import LOAD_CYCLES
from pytest_devperf.session.starts.meters.bench import Bench
from pytest_devperf.targets.awaited import result_of, run_now
from pytest_devperf.targets.protocol import Surveying, Target
from pytest_devperf.targets.survey import Survey

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodProbe:
    """A timed method of a model."""

    model: Model

    def repeat(self, bench: Bench, target: Target) -> None:
        """Measure again, in another process start."""
        bench.notes.target = target
        _measure_method(bench, target, self.model)


def measure_model(bench: Bench, model: Model) -> Any:  # noqa: ANN401 - outputs by name
    """Time a model's methods; in the starts that measure loads, its load and memory too."""
    target = bench.enter(model, EXECUTE)
    survey = target.survey(model) if isinstance(target, Surveying) else Survey()
    bench.notes.add_survey(survey)
    bench.start.env["asked_ep"] = ",".join(model.providers) if model.providers else None
    bench.notes.add_work(EXECUTE, model)
    outputs = None
    for method in survey.methods:
        one = replace(model, method=method)
        if bench.takes_rounds:
            bench.probes.append(MethodProbe(model=one))
        outputs = _measure_method(bench, target, one)
    return outputs


def _measure_method(bench: Bench, target: Target, model: Model) -> Any:  # noqa: ANN401 - outputs by name
    metric = time_metric(f"{EXECUTE}.{model.method}")
    bench.notes.claim(metric.name)
    outputs = None
    if bench.takes_rounds:
        with target.start(model, bench.orders.process) as runner:
            run_now(bench.take_rounds(runner, metric))
            outputs = result_of(runner)
    if bench.takes_scalars and not bench.notes.has(LOAD):
        # That of the first method: the file is loaded once, whichever method runs then.
        outputs = _load_again(bench, target, model, outputs)
    elif outputs is None:
        with target.start(model, bench.orders.process) as runner:
            runner.run(1, 1)
            outputs = result_of(runner)
    return outputs


def _load_again(bench: Bench, target: Target, model: Model, outputs: Any) -> Any:  # noqa: ANN401 - outputs by name
    """Load a model several times: all loads are timed, the first one also measures memory."""
    loads_ns: list[int] = []
    for cycle in range(LOAD_CYCLES):
        with target.start(replace(model, memory=cycle == 0), bench.orders.process) as runner:
            if runner.load_ns is not None:
                loads_ns.append(runner.load_ns)
            if cycle == 0:
                if outputs is None:
                    runner.run(1, 1)
                    outputs = result_of(runner)
                bench.notes.add_memory(runner.memory(bench.case.plan.iterations))
    bench.notes.add_loads(loads_ns)
    return outputs
