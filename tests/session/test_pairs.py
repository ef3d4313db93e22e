"""How many pairs of process starts a case measured in turns may have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.in_turns.metric import LOOKS, MANY, MANY_LOOKS
from pytest_devperf.compare.policy import Policy
from pytest_devperf.errors import UsageError
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.metric import time_metric
from pytest_devperf.session.cases.case_state import CaseState, TestAddress
from pytest_devperf.session.modes.paired_cases import PairedCases
from pytest_devperf.session.options.settings import Settings, check_settings, policy_of
from pytest_devperf.session.starts.start import CaseStart, Timed

MS = 10**6


def case_of(round_ms: float, *, metrics: int = 1, **plan: int) -> CaseState:
    """A case whose first pair took three rounds of each side."""
    case = Case(id="a", path="a", test="a", plan=replace(Plan(), **plan), named=frozenset(plan))
    result = StartResult(
        rounds=(Round(samples_ns=(round_ms * MS,), process=0),) * 3,
        iterations=1,
        inner_loops=1,
        total_rounds=27,
        tick_ns=None,
        stop="done",
    )
    timed = Timed(metric=time_metric("latency"), start_result=result)
    state = CaseState(
        index=0, case=case, address=TestAddress(path="a", nodeid="a"), policy=Policy(metrics=metrics), baseline=None
    )
    state.starts.append(CaseStart(process=0, role="rounds", timed=[timed], olds=[timed]))
    return state


@pytest.mark.parametrize(
    ("state", "pairs"),
    [
        (case_of(1), max(LOOKS)),
        (case_of(1, metrics=MANY + 1), max(MANY_LOOKS)),
        (case_of(1, processes=5), 5),
        (case_of(1000), 10),  # 60 s for pairs of 6 s
        (case_of(1000, processes=20), 10),
        (case_of(1000, max_time=12), 2),
        (case_of(100_000), 1),
    ],
)
def test_pairs_are_as_many_as_the_rule_the_user_and_the_budget_allow(state: CaseState, pairs: int) -> None:
    assert PairedCases(Settings()).starts(state) == pairs


def tolerance_of(settings: Settings, **marker: float) -> dict[str, float]:
    return dict(policy_of(settings, Case(id="a", tolerance=marker)).tolerance)


def test_a_fine_session_tolerates_half_a_percent_unless_the_command_line_names_a_tolerance() -> None:
    assert tolerance_of(Settings(fine=True)) == {"*": 0.005}
    assert tolerance_of(Settings(fine=True, tolerance=(("*", 0.05),)), load=0.4) == {"*": 0.005, "load": 0.4}
    assert tolerance_of(Settings(fine=True, tolerance=(("*", 0.05),), tolerance_cli=True)) == {"*": 0.05}


@pytest.mark.parametrize("aim", [{"compare": "base"}, {"save": "base"}, {"aa": 3}])
def test_a_fine_tolerance_is_refused_outside_of_turns(aim: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--devperf-fine is for measuring in turns"):
        check_settings(Settings(fine=True, **aim))
    check_settings(Settings(fine=True, against="main"))
