"""A session that was killed goes on where it was: the same documents, the same verdicts, nothing measured twice."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from driving import Driven, Killed, drive

from pytest_devperf.case.workload import Call
from pytest_devperf.errors import UsageError
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Document
from pytest_devperf.session.starts.meters.timing import Meter

MS = 1_000_000


def fast() -> None: ...
def slow() -> None: ...
def steady() -> None: ...


def times_fast(meter: Meter) -> None:
    meter.time("latency", Call(function=fast))


def times_slow(meter: Meter) -> None:
    meter.time("latency", Call(function=slow))
    meter.record("boxes", 3.0, unit="1", better="higher")


def times_steady(meter: Meter) -> None:
    meter.time("latency", Call(function=steady))


def fails(_: Meter) -> None:
    raise UsageError("broken")


TESTS = {"a::fast": times_fast, "a::slow": times_slow, "b::fails": fails, "b::steady": times_steady}
SPEED = {"fast": MS, "slow": 5 * MS, "steady": 2 * MS}
SLOWER = {"fast": MS, "slow": 10 * MS, "steady": 2 * MS}


def document(done: Driven) -> Any:
    """The document of a session, without its name and its time."""
    text = encode(Document(runs=done.report.runs)).decode()
    return json.loads(re.sub(r'"(id": "[0-9a-f]{8}|taken_at": "[^"]*)"', '"name": ""', text))


def verdicts(done: Driven) -> Mapping[str, str | None]:
    return {name: done.verdict(name) for name in TESTS}


def logs(folder: Path) -> list[Path]:
    return sorted((folder / "logs").glob("*.log"))


def measure(folder: Path, **settings: Any) -> Driven:
    settings.setdefault("takes_ns", SPEED)
    return drive(TESTS, folder, **settings)


KINDS: Mapping[str, Mapping[str, Any]] = {
    "saved": {"save": "new"},
    "compared": {"compare": "base", "takes_ns": SLOWER},
    "repeated": {"aa": 2, "plan": {"processes": 2, "rounds": 4}},
    "one start": {"plan": {"processes": 1}},
    "sequential": {"compare": "base", "takes_ns": SLOWER, "plan": {"order": "sequential"}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_killed_at_any_start_ends_as_one_that_was_not(tmp_path: Path, kind: str) -> None:
    settings = KINDS[kind]
    measure(tmp_path, save="base")
    whole = measure(tmp_path, **settings)
    starts = len(whole.target.started)
    for dies_at in sorted({0, 1, starts // 2, starts - 2, starts - 1}):
        with pytest.raises(Killed):
            measure(tmp_path, dies_at=dies_at, **settings)
        if dies_at == 0:  # nothing was measured yet: there is nothing to go on with
            assert logs(tmp_path) == []
            continue
        resumed = measure(tmp_path, resume=True, **settings)
        assert document(resumed) == document(whole)
        assert verdicts(resumed) == verdicts(whole)
        assert resumed.gates == whole.gates
        assert logs(tmp_path) == []


def test_nothing_is_measured_twice(tmp_path: Path) -> None:
    plan = {"processes": 3, "rounds": 6, "min_rounds": 6}
    whole = measure(tmp_path, plan=plan)
    with pytest.raises(Killed):
        measure(tmp_path, plan=plan, dies_at=5)
    resumed = measure(tmp_path, plan=plan, resume=True)
    # The test of a case on a virtual device says what is measured again: each runs its call once, without rounds.
    asked_again = [(name, 0) for name in ("fast", "slow", "steady")]
    assert sorted(resumed.target.started) == sorted([*asked_again, *whole.target.started[5:]])


def test_a_session_that_is_killed_repeatedly_is_completed(tmp_path: Path) -> None:
    whole = measure(tmp_path, save="new")
    kills = 0
    while True:
        try:
            done = measure(tmp_path, save="new", dies_at=6, resume=kills > 0)
            break
        except Killed:
            kills += 1
    assert kills > 1
    assert document(done) == document(whole)


def test_a_device_that_went_away_is_waited_for_by_the_next_session(tmp_path: Path) -> None:
    whole = measure(tmp_path, save="base")
    lost = measure(tmp_path, save="new", lost_at=5)
    assert any("--devperf-resume goes on with it" in words for words in lost.report.messages)
    resumed = measure(tmp_path, save="new", resume=True)
    assert document(resumed) == document(whole)
    assert logs(tmp_path) == []


def test_a_run_that_could_not_be_saved_is_saved_without_measuring_again(tmp_path: Path) -> None:
    whole = measure(tmp_path, save="base")
    label = next((tmp_path / ".devperf").glob("*/*"))
    aside = tmp_path / "aside"
    label.rename(aside)
    label.write_text("in the way")
    failed = measure(tmp_path, save="base")
    assert any(words.startswith("NOT SAVED") for words in failed.report.messages)
    label.unlink()
    aside.rename(label)
    resumed = measure(tmp_path, save="base", resume=True)
    assert resumed.target.started == []
    assert document(resumed) == document(whole)
    assert [each.label for each in resumed.report.saved] == ["base"]


def test_a_session_killed_right_after_its_save_does_not_save_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("pytest_devperf.session.log.recorder.drop", killed)
        with pytest.raises(Killed):
            measure(tmp_path, save="new")
    saved = [path.name for path in (tmp_path / ".devperf").rglob("*.json")]
    resumed = measure(tmp_path, save="new", resume=True)
    assert [path.name for path in (tmp_path / ".devperf").rglob("*.json")] == saved
    assert [each.label for each in resumed.report.saved] == ["new"]


@pytest.mark.parametrize("cut", [1, 7, 8, 9, 60])
def test_an_incomplete_last_entry_is_dropped_and_reported(tmp_path: Path, cut: int) -> None:
    whole = measure(tmp_path, save="new")
    with pytest.raises(Killed):
        measure(tmp_path, save="new", dies_at=6)
    (log,) = logs(tmp_path)
    log.write_bytes(log.read_bytes()[:-cut])
    resumed = measure(tmp_path, save="new", resume=True)
    assert "its last entry is incomplete" in str(resumed.session.resumption.log.header())
    assert document(resumed) == document(whole)


def test_a_changed_byte_ends_what_is_believed(tmp_path: Path) -> None:
    whole = measure(tmp_path, save="new")
    with pytest.raises(Killed):
        measure(tmp_path, save="new", dies_at=8)
    (log,) = logs(tmp_path)
    data = bytearray(log.read_bytes())
    data[len(data) * 3 // 4] ^= 1
    log.write_bytes(data)
    resumed = measure(tmp_path, save="new", resume=True)
    assert document(resumed) == document(whole)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plan": {"rounds": 8}}, r"--devperf-rounds was 12 and is 8"),
        ({"save": "other"}, r"--devperf-save was new and is other"),
        ({"plan": {"seed": 8}}, r"--devperf-seed was 7 and is 8"),
        ({"device": {"model": "two"}}, r"it was measured on one \(\w+\), and this is two \(\w+\)"),
        ({"device": {"pinned": False}}, r"one is in another state: whether its clocks are held was yes and is no"),
        ({"device": {"pinned": True, "power_state": "battery"}}, r"its power supply was AC and is battery"),
    ],
)
def test_another_session_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"save": "new", "device": {"pinned": True, "power_state": "AC"}}
    with pytest.raises(Killed):
        measure(tmp_path, dies_at=6, **settings)
    before = logs(tmp_path)[0].read_bytes()
    with pytest.raises(UsageError, match=words) as caught:
        measure(tmp_path, resume=True, **{**settings, **change})
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("undo that, or measure anew without the option")
    assert logs(tmp_path)[0].read_bytes() == before


def test_other_cases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        measure(tmp_path, dies_at=3)
    with pytest.raises(UsageError, match=r"the case a::fast \(and 1 more\) is gone"):
        drive({"b::fails": fails, "b::steady": times_steady}, tmp_path, takes_ns=SPEED, resume=True)


def test_a_baseline_that_was_saved_again_is_refused(tmp_path: Path) -> None:
    measure(tmp_path, save="base")
    with pytest.raises(Killed):
        measure(tmp_path, compare="base", dies_at=2)
    measure(tmp_path, save="base")
    with pytest.raises(UsageError, match="the baseline was saved again"):
        measure(tmp_path, compare="base", resume=True)


def test_no_log_contains_a_password(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        measure(tmp_path, dies_at=3, store="memory://me:hunter2@host/runs")
    assert b"hunter2" not in logs(tmp_path)[0].read_bytes()
    assert b"memory" in logs(tmp_path)[0].read_bytes()


def test_nothing_to_resume_is_an_error(tmp_path: Path) -> None:
    measure(tmp_path)
    with pytest.raises(UsageError, match="every session of this folder finished"):
        measure(tmp_path, resume=True)


def test_the_next_session_shows_what_can_be_resumed_until_it_has_measured_the_same(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        measure(tmp_path, dies_at=3)
    other = measure(tmp_path, save="new")
    assert len(logs(tmp_path)) == 1
    same = measure(tmp_path)
    assert other.session.resumption.log is not same.session.resumption.log
    assert logs(tmp_path) == []


def test_a_log_that_cannot_be_written_costs_the_session_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    done = measure(tmp_path, save="new")
    assert [each.label for each in done.report.saved] == ["new"]
    assert sum("cannot be resumed" in words for words in done.display.announced) == 1
