"""Whole measuring sessions, driven without pytest: what starts when, what is concluded, what is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from driving import MS, SPEED, TWO, Driven, drive, fast, times_fast, times_slow

from pytest_devperf.case.workload import Call
from pytest_devperf.errors import UsageError
from pytest_devperf.session.starts.meters.timing import Meter


def measure(folder: Path, tests=TWO, takes_ns=SPEED, **settings) -> Driven:
    return drive(tests, folder, takes_ns=takes_ns, **settings)


def test_every_case_gets_its_starts_and_is_reported_once(tmp_path: Path) -> None:
    done = measure(tmp_path, plan={"processes": 3, "rounds": 6, "min_rounds": 6})
    assert sorted(done.target.started) == [(name, process) for name in ("fast", "slow") for process in (0, 1, 2)]
    assert sorted(state.case.id for state in done.reporter.concluded) == ["a::fast", "a::slow"]
    assert done.gates == 0
    (record,) = [state.record for state in done.reporter.concluded if state.case.id == "a::fast"]
    assert record is not None
    assert record.metrics[0].process == (0, 0, 1, 1, 2, 2)


@pytest.mark.parametrize(
    ("order", "expected"),
    [("interleaved", ["start 2 of 3", "start 3 of 3"]), ("sequential", ["start 2 of 3", "start 3 of 3"] * 2)],
)
def test_cases_alternate_or_follow_one_another(tmp_path: Path, order: str, expected: list[str]) -> None:
    done = measure(tmp_path, plan={"processes": 3, "rounds": 6, "min_rounds": 6, "order": order})
    assert [words for words in done.display.stages if not words.startswith("start 1")] == expected


def test_stable_cases_end_early(tmp_path: Path) -> None:
    done = measure(tmp_path, plan={"processes": 6, "rounds": 12})
    assert max(process for _, process in done.target.started) < 5


def test_a_saved_run_has_all_its_rounds(tmp_path: Path) -> None:
    done = measure(tmp_path, save="base")
    assert {process for _, process in done.target.started} == set(range(6))
    assert [each.label for each in done.report.saved] == ["base"]


def test_a_suspect_is_measured_again_and_only_the_suspect(tmp_path: Path) -> None:
    measure(tmp_path, save="base")
    done = measure(tmp_path, compare="base", takes_ns={"fast": MS, "slow": 10 * MS})
    assert done.verdict("a::fast") == "within_noise"
    assert done.verdict("a::slow") == "regressed"
    again = {name for name, process in done.target.started if process >= 3}
    assert again == {"slow"}
    assert done.states["a::slow"].record.metrics[0].confirmation is not None  # type: ignore[union-attr]
    assert any(words.startswith("waiting 10 s") for words in done.display.stages) is False  # the cooldown is off


SCATTER = (0, 120, 180, 140, 100, 160, 40, 80, 20, 60)
"""How much slower process starts are for their layout alone, in thousandths."""


def scattered(factor: float = 1.0) -> dict[str, int]:
    """Speeds with which the process starts of `slow` differ, as those of `fast` do not."""
    starts = {f"slow@{at}": round(factor * 5 * MS * (1 + SCATTER[at % 10] / 1000)) for at in range(60)}
    return {"fast": MS, "slow": 5 * MS, **starts}


def starts_of(done: Driven, name: str) -> int:
    return sum(1 for started, _ in done.target.started if started == name)


def test_a_saved_run_has_more_starts_only_if_they_differ(tmp_path: Path) -> None:
    done = measure(tmp_path, save="base", takes_ns=scattered())
    assert (starts_of(done, "fast"), starts_of(done, "slow")) == (6, 24)
    processes = done.states["a::slow"].record.metrics[0].process  # type: ignore[union-attr]
    assert len(set(processes)) == len(processes) // 2 == 24


def test_a_case_whose_comparisons_would_be_blind_is_named_when_it_is_saved(tmp_path: Path) -> None:
    apart = {f"slow@{at}": round(5 * MS * (1 + at % 7 / 3)) for at in range(60)}
    done = measure(tmp_path, save="base", takes_ns={**scattered(), **apart})
    fast, slow = (done.states[name].record for name in ("a::fast", "a::slow"))
    assert fast is not None
    assert slow is not None
    assert "blind" not in fast.cautions
    assert slow.caution_notes["blind"].startswith("latency: a change below ")
    assert "could not have been found: end other programs, or measure in turns" in slow.caution_notes["blind"]


def test_a_suspect_that_the_machine_explains_ends_its_first_look(tmp_path: Path) -> None:
    plan = {"processes": 6, "rounds": 12}
    measure(tmp_path, save="base", takes_ns=SPEED, plan=plan)
    slower = {"fast": MS, "slow": round(5.5 * MS), "anchor": 55_000}
    done = measure(tmp_path, compare="base", takes_ns=slower, plan=plan)
    assert done.verdict("a::slow") == "suspect"
    assert starts_of(done, "slow") == 2


def test_a_saved_run_has_as_many_starts_as_were_named(tmp_path: Path) -> None:
    done = measure(tmp_path, save="base", takes_ns=scattered(), plan={"processes": 4})
    assert starts_of(done, "slow") == 4


def test_a_suspect_is_given_more_starts_while_they_may_prove_it(tmp_path: Path) -> None:
    measure(tmp_path, save="base", takes_ns=scattered())
    done = measure(tmp_path, compare="base", takes_ns=scattered(1.045))
    assert done.verdict("a::slow") in {"regressed", "suspect"}
    again = done.states["a::slow"].record.metrics[0].confirmation  # type: ignore[union-attr]
    assert again is not None
    assert len(set(again.process)) in {12, 18, 24}
    assert len(set(again.process)) == starts_of(done, "slow") - 3
    assert done.verdict("a::fast") == "within_noise"


def test_without_confirming_nothing_is_looked_at_again(tmp_path: Path) -> None:
    measure(tmp_path, save="base", takes_ns=scattered())
    done = measure(tmp_path, compare="base", takes_ns=scattered(1.045), no_confirm=True)
    assert starts_of(done, "slow") == 3


def test_a_regression_of_one_look_alone_is_none(tmp_path: Path) -> None:
    measure(tmp_path, save="base")
    once = {"fast": MS, "slow": 5 * MS, **{f"slow@{process}": 10 * MS for process in range(3)}}
    done = measure(tmp_path, compare="base", takes_ns=once)
    assert done.verdict("a::slow") not in {"regressed", None}


def test_a_failing_test_has_no_further_starts_and_no_measurement(tmp_path: Path) -> None:
    def fails(meter: Meter) -> None:
        meter.time("latency", Call(function=fast))
        raise UsageError("broken")

    done = measure(tmp_path, {"a::fails": fails, "a::slow": times_slow})
    assert [process for name, process in done.target.started if name == "fast"] == [0]
    record = done.states["a::fails"].record
    assert record is not None
    assert (record.outcome, record.metrics) == ("failed", ())
    assert done.reporter.concluded[0].case.id == "a::fails"


def test_a_test_that_measures_nothing_is_skipped(tmp_path: Path) -> None:
    done = measure(tmp_path, {"a::nothing": lambda _: None})
    record = done.states["a::nothing"].record
    assert record is not None
    assert record.outcome == "skipped"


def test_inputs_that_differ_from_start_to_start_fail_the_case(tmp_path: Path) -> None:
    done = measure(tmp_path, {"a::slow": times_slow}, plan={"processes": 3, "rounds": 6, "min_rounds": 6})
    state = done.states["a::slow"]
    other = state.starts[1]
    other.digests = dict.fromkeys(state.starts[0].digests, "another")
    state.starts[0].digests = {"latency: argument 0": "first"}
    other.digests = {"latency: argument 0": "second"}
    with pytest.raises(Exception, match="argument 0 differs in every process start"):
        state.check_digests(other)


def test_a_label_that_nobody_saved_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is empty: save a run with --devperf-save=base first"):
        measure(tmp_path, compare="base")


def test_a_missing_case_is_a_gate_that_did_not_hold(tmp_path: Path) -> None:
    measure(tmp_path, save="base")
    assert measure(tmp_path, {"a::fast": times_fast}, compare="base").gates == 1
    assert measure(tmp_path, {"a::fast": times_fast}, compare="base", fail_on_missing=False).gates == 0


def test_repetitions_are_separate_runs(tmp_path: Path) -> None:
    done = measure(tmp_path, {"a::fast": times_fast}, aa=3, plan={"processes": 2, "rounds": 4})
    assert [process for _, process in done.target.started] == list(range(6))
    mode = done.session.mode
    (noises,) = mode.noises(done.session.states).values()  # type: ignore[attr-defined]
    assert noises
    assert done.verdict("a::fast") is None


def test_a_session_can_go_on_from_what_its_starts_found(tmp_path: Path) -> None:
    """A mode decides by what a case knows: taken into another state, the starts lead to the same next one."""
    done = measure(tmp_path, {"a::fast": times_fast}, plan={"processes": 4, "rounds": 8, "min_rounds": 8})
    state = done.states["a::fast"]
    starts, mode = list(state.starts), done.session.mode
    state.concluded = False
    for count in range(1, 4):
        state.starts = starts[:count]
        request = mode.next_start(state)
        assert request is not None
        assert (request.process, request.place, request.of) == (count, count, 4)
    state.starts = starts
    assert mode.next_start(state) is None


def test_no_module_of_a_session_imports_pytest() -> None:
    script = (
        "import importlib, pkgutil, sys\n"
        "import pytest_devperf.session as room\n"
        "for module in pkgutil.walk_packages(room.__path__, room.__name__ + '.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('pytest', '_pytest', 'pluggy')))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
