"""The verb that examines this machine."""

from __future__ import annotations

import json

import pytest

from pytest_devperf.cli import main
from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.host.machine import Machine


def quiet(monkeypatch: pytest.MonkeyPatch, **fields: object) -> None:
    """Let this machine's sensors show a quiet machine, but for the given readings."""
    context = Context(at_ns=0, **{"cpu_pct": 1.0, **fields})  # type: ignore[arg-type]
    monkeypatch.setattr(Machine, "prerun", lambda *_: context)


def test_a_quiet_machine_is_fit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quiet(monkeypatch)

    assert main(["doctor", "--seconds=0"]) == 0

    output = capsys.readouterr().out
    assert "other programs use 1 % of all CPUs" in output
    assert "Measured" not in output


def test_what_is_bad_comes_first_and_decides_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet(monkeypatch, power_state="battery")

    assert main(["doctor", "--seconds=0", "--format=json"]) == 1

    document = json.loads(capsys.readouterr().out)
    assert document["trials"] == []
    assert document["findings"][0] == {
        "check": "power",
        "grade": "bad",
        "found": "on battery",
        "costs": "clocks are lower, and runs are refused if their baseline was measured on mains",
        "remedy": "plug it in",
    }


def test_the_fixed_work_is_measured_in_fresh_interpreters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet(monkeypatch)

    main(["doctor", "--seconds=0.001", "--format=json"])

    trials = json.loads(capsys.readouterr().out)["trials"]
    assert trials[0]["how"] == "as it is"
    assert all(each["starts"] == 3 for each in trials)
    assert all(isinstance(each["delta_pct"], float) for each in trials)


@pytest.mark.parametrize("words", [["--seconds=-1"], ["--seconds=nan"], ["--seconds="], ["--target=nowhere"]])
def test_bad_arguments_are_refused_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["doctor", *words])
    except SystemExit as ended:
        code = ended.code

    assert code == 4
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
