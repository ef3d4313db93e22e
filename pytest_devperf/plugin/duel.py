"""Two commands or two models in turns within one test (`devperf.paired`): the old against the new."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as replace_fields

from pytest_devperf.case.workload import Command, Model, Workload
from pytest_devperf.compare.paired import PAIRS, ROUNDS_EACH, turns
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.measure.turns import Sides, run_turns
from pytest_devperf.metric import EXECUTE, LATENCY, time_metric
from pytest_devperf.plugin.side import compare_sides
from pytest_devperf.plugin.start import CaseStart, Timed
from pytest_devperf.targets.protocol import Answering, Surveying, Target

if TYPE_CHECKING:
    from pytest_devperf.plugin.ledger import Entry
    from pytest_devperf.plugin.meter import Meter
    from pytest_devperf.record.record import Comparison, Record

Side = Sequence[str | os.PathLike[str]] | str | os.PathLike[str]
"""A model's path, or a program with its arguments."""


def is_command(case_id: str, old: object, new: object) -> bool:
    """Tell whether two sides are programs; they are models otherwise.

    Raises:
        CaseError: One is a program and the other a model.
    """
    kinds = {isinstance(side, (list, tuple)) for side in (old, new)}
    if len(kinds) > 1:
        raise CaseError(
            f"{case_id}: devperf.paired was given a program and a model",
            "pass two argument lists, or two model paths",
        )
    return kinds.pop()


def refuse_unlike(case_id: str, old: Workload, new: Workload) -> None:
    """Refuse two programs of which one measures itself and the other is timed as a whole.

    Raises:
        CaseError: They are so.
    """
    if isinstance(old, Command) and isinstance(new, Command) and old.is_timed != new.is_timed:
        raise CaseError(
            f"{case_id}: one program of devperf.paired takes {{iterations}}, and the other is timed as a whole",
            'name what both print with read=, or time both with read="time"',
        )


def duel(meter: Meter, old: Workload, new: Workload) -> Any:  # noqa: ANN401 - outputs by name
    """Measure both in turns, every method that the new one has; returns the new one's outputs."""
    if isinstance(old, Command) or isinstance(new, Command):
        meter.enter_pair(new, LATENCY)
        return fight(meter, LATENCY, old, new)
    assert isinstance(old, Model)
    assert isinstance(new, Model)
    target = meter.enter_pair(new, EXECUTE)
    outputs = None
    for method in _methods(meter, target, old, new):
        outputs = fight(meter, f"{EXECUTE}.{method}", replace(old, method=method), replace(new, method=method))
    return outputs


def _methods(meter: Meter, target: Target, old: Model, new: Model) -> Sequence[str]:
    if not isinstance(target, Surveying):
        return ("forward",)
    before, survey = target.survey(old), target.survey(new)
    meter.note_survey(survey)
    shared = [method for method in survey.methods if method in before.methods]
    if not shared:
        before.require_method()
        raise Unsupported("the two models share no method that can be executed")
    if before.inputs != survey.inputs:
        raise CaseError(
            f"{meter.case.id}: the two models take different inputs",
            "pass dims= or inputs= that suit both",
        )
    return shared


def fight(meter: Meter, name: str, old: Workload, new: Workload) -> Any:  # noqa: ANN401 - outputs by name
    """Bring both up, let them take turns, and keep both sides."""
    meter.remember(name, new, old)
    if meter.orders.role == "solo":
        return None
    target = meter.target
    assert target is not None
    start_plan = meter.orders.start_plan(name)
    if start_plan.process == 0:
        start_plan = replace(
            start_plan, rounds=ROUNDS_EACH, total_rounds=PAIRS * ROUNDS_EACH, processes=PAIRS, fixed=False
        )
    with target.start(old, meter.orders.process) as before, target.start(new, meter.orders.process) as after:
        meter.note_software(after)
        start_results = run_turns(
            Sides(old=before, new=after),
            replace(start_plan, inner_loops=None if start_plan.process == 0 else start_plan.inner_loops),
            meter.case.plan,
            meter.clock,
            order=turns(start_plan.process),
            around=meter.around_rounds(),
        )
        outputs = after.result() if isinstance(after, Answering) else None
    metric = time_metric(name)
    meter.start.olds.append(Timed(metric=metric, start_result=start_results[0]))
    meter.start.timed.append(Timed(metric=metric, start_result=start_results[1]))
    return outputs


def olds_of(entry: Entry) -> list[CaseStart]:
    """The old sides of a case's process starts, as starts of their own."""
    return [
        CaseStart(process=start.process, role=start.role, timed=list(start.olds))
        for start in entry.starts
        if start.olds
    ]


def verdict_of(entry: Entry, record: Record) -> Comparison:
    """Judge what a test measured in turns; its other metrics have nothing to be compared with."""
    shown = tuple(metric for metric in record.metrics if metric.against is not None)
    return compare_sides(replace_fields(record, metrics=shown), olds_of(entry), entry.policy, reason=None)


def once(target: Target, old: Workload, new: Workload) -> Mapping[str, Any] | None:
    """Run both once, unmeasured; returns the new one's outputs."""
    outputs: Mapping[str, Any] | None = None
    for workload in (old, new):
        survey = target.survey(workload) if isinstance(workload, Model) and isinstance(target, Surveying) else None
        if survey is not None:
            survey.require_method()
        with target.start(workload, 0) as runner:
            runner.run(1, 1)
            outputs = runner.result() if isinstance(runner, Answering) else None
    return outputs
