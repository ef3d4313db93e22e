"""A budget for the whole session, on a device whose time is arithmetic."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from driving import Driven, drive

from pytest_devperf.case.workload import Call
from pytest_devperf.errors import UsageError

MS = 1_000_000


def one() -> None: ...
def two() -> None: ...


TESTS = {
    "a::one": lambda meter: meter.time("latency", Call(function=one)),
    "a::two": lambda meter: meter.time("latency", Call(function=two)),
}
SPEED = {"one": 10 * MS, "two": 10 * MS}
PLAN = {"processes": 6, "rounds": 12, "min_rounds": 12, "iterations": 30}
"""A start of a case takes two rounds of 0.3 s, and its warm-up."""


def measure(folder: Path, takes_ns: dict[str, int] = SPEED, tests=TESTS, **settings) -> Driven:
    return drive(tests, folder, takes_ns=takes_ns, plan=PLAN, **settings)


def starts_of(done: Driven) -> Counter[str]:
    return Counter(name for name, _ in done.target.started)


def test_without_a_budget_every_start_is_made(tmp_path: Path) -> None:
    done = measure(tmp_path)

    assert starts_of(done) == {"one": 6, "two": 6}
    assert done.session.budget.describe() is None


def test_cases_share_a_budget_evenly_and_the_rest_is_reported(tmp_path: Path) -> None:
    done = measure(tmp_path, budget=5.0)

    starts = starts_of(done)
    assert starts["one"] == starts["two"]
    assert 1 < starts["one"] < 6
    assert done.target.clock.ns <= 5.5e9
    assert done.session.targets.notes == [
        "the budget of 5 s (--devperf-budget) was spent: 2 cases had fewer process starts than planned"
    ]
    assert all(state.record is not None and state.record.outcome == "passed" for state in done.session.states)


def test_start_1_of_each_case_is_made_whatever_the_budget_is(tmp_path: Path) -> None:
    assert starts_of(measure(tmp_path, budget=0.001)) == {"one": 1, "two": 1}


def test_a_part_of_the_budget_is_kept_for_suspects(tmp_path: Path) -> None:
    measure(tmp_path, save="base")

    done = measure(tmp_path, {"one": 15 * MS, "two": 10 * MS}, compare="base", budget=12.0)

    assert done.verdict("a::one") == "regressed"
    assert max(process for name, process in done.target.started if name == "one") >= 6
    assert done.gates == 0


def test_a_suspect_that_could_not_be_measured_again_stays_one(tmp_path: Path) -> None:
    measure(tmp_path, save="base")

    done = measure(tmp_path, {"one": 15 * MS, "two": 10 * MS}, compare="base", budget=2.0)

    assert done.verdict("a::one") == "suspect"
    (note,) = done.session.targets.notes
    assert "1 suspect or blind case could not be measured again" in note


def test_a_run_is_saved_with_the_starts_that_it_had(tmp_path: Path) -> None:
    saved = measure(tmp_path, save="base", budget=5.0)

    assert 1 < starts_of(saved)["one"] < 6
    assert measure(tmp_path, compare="base").verdict("a::one") == "within_noise"


@pytest.mark.parametrize(("settings", "words"), [({"aa": 3}, "--devperf-aa"), ({}, "--devperf-order")])
def test_a_budget_that_cannot_be_spread_is_refused(settings: dict[str, int], words: str) -> None:
    from pytest_devperf.session.options.settings import Settings, check_settings

    asked = Settings(budget=5.0, plan_cli={} if settings else {"order": "sequential"}, **settings)
    with pytest.raises(UsageError, match=words):
        check_settings(asked)
