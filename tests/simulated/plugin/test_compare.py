"""Sessions on a phone: saved, compared, refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

Session = Any
"""The fixtures' own class; conftest files are not imported."""


def test_a_run_on_a_phone_is_saved_and_compared_with_itself(tool: Session) -> None:
    saving = tool.run("--devperf-save=base")
    result = tool.run("--devperf-compare=base", "--devperf-json=run.json")

    saving.stdout.fnmatch_lines(
        [
            "devperf device: sim Google Pixel 8 (Tensor G3, *",
            "*2?.? °C, not throttled, clocks pinned, *",
            "*1 measured; saved as base",
        ]
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(["devperf: 1 within noise; compared with base"])
    case = tool.cases()["test_tool.py::test_tool"]
    assert case["run_context"]["clock_state"]["pinned"] is True
    assert case["run_context"]["clock_state"]["max_khz"]


def test_each_round_keeps_its_temperature_and_the_highest_clock_that_was_allowed(tool: Session) -> None:
    tool.run("--devperf-json=run.json")

    case = tool.cases()["test_tool.py::test_tool"]
    (metric,) = [each for each in case["metrics"] if each["name"] == "latency"]
    highest = max(case["run_context"]["clock_state"]["max_khz"].values())
    assert metric["clock_khz"] == [highest] * len(metric["process"])
    assert len(metric["temp_c"]) == len(metric["process"])
    assert max(metric["temp_c"]) <= case["run_context"]["temp_max_c"]


def test_a_slower_workload_on_the_phone_is_a_confirmed_regression_of_its_test(tool: Session) -> None:
    tool.run("--devperf-save=base")
    tool.phone_is(slow=1.25)

    result = tool.run("--devperf-compare=base")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*latency regressed: 1.7* -> 2.1* ms (+25.0 %)*confirmed*"])
    result.assert_outcomes(failed=1)


def test_a_comparison_does_not_pin_the_clocks_if_the_baseline_did_not(tool: Session) -> None:
    tool.run("--devperf-save=base", "--devperf-pin-clocks=off")

    result = tool.run("--devperf-compare=base", "--devperf-json=run.json")

    assert result.ret == 0
    assert tool.cases()["test_tool.py::test_tool"]["run_context"]["clock_state"]["pinned"] is False


@pytest.mark.parametrize(("then", "now", "held"), [("off", "on", "were not held"), ("auto", "off", "were held")])
def test_clocks_held_otherwise_than_in_every_baseline_end_the_session_before_anything_is_measured(
    tool: Session, then: str, now: str, held: str
) -> None:
    tool.run("--devperf-save=base", f"--devperf-pin-clocks={then}")

    result = tool.run("--devperf-compare=base", f"--devperf-pin-clocks={now}")

    assert result.ret == 4
    shown = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert f"--devperf-compare=base: clocks {held} in the baseline of every case" in shown
    assert f"--devperf-pin-clocks={now}" in shown
    result.assert_outcomes()


def test_under_auto_a_phones_case_whose_clocks_are_held_otherwise_is_not_measured(
    tool: Session, switch_on: Any
) -> None:
    switch_on()
    (tool.path / "conftest.py").unlink()  # it is about the session's own simulated phone
    saving = tool.run("--devperf-save=base", target="auto")

    result = tool.run("--devperf-compare=base", "--devperf-pin-clocks=off", "--devperf-json=run.json", target="auto")

    assert saving.ret == 0
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    assert "clocks were held in the baseline of every case" in " ".join(result.stdout.str().split())
    assert tool.cases()["test_tool.py::test_tool"]["metrics"] == []


def test_a_phone_that_does_not_hold_its_clocks_is_not_compared_with_a_pinned_baseline(tool: Session) -> None:
    tool.run("--devperf-save=base")

    result = tool.run("--devperf-compare=base", target="sim:pixel-tensor:ignores-pinning")

    assert result.ret == 4
    shown = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert "every case would be incomparable (Google Pixel 8 accepts fixed-performance mode and does nothing)" in shown


def test_clocks_that_nobody_can_hold_are_refused_on_this_machine(tool: Session) -> None:
    tool.pytester.makepyfile(test_call="def test_call(devperf):\n    devperf(len, [])\n")

    named = tool.run("--devperf-pin-clocks=on", "test_call.py", target="host")
    chosen = tool.run("--devperf-pin-clocks=on", "test_call.py", target="auto")

    assert named.ret == 4
    assert "--devperf-pin-clocks=on: the clocks of" in " ".join((named.stdout.str() + named.stderr.str()).split())
    assert chosen.ret == 1
    chosen.assert_outcomes(failed=1)
    assert "measure on a phone, or with --devperf-pin-clocks=auto" in " ".join(chosen.stdout.str().split())


def test_another_unit_of_one_model_is_compared_with_a_caution(tool: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.phone.identity.hash_unit", lambda *_: "a" * 16)
    tool.run("--devperf-save=base", "--devperf-identity=model")
    monkeypatch.setattr("pytest_devperf.targets.android.phone.identity.hash_unit", lambda *_: "b" * 16)

    result = tool.run("--devperf-compare=base", "--devperf-identity=model", "--devperf-json=run.json")

    document = json.loads((tool.path / "run.json").read_text())
    assert result.ret == 0
    assert document["runs"][0]["device"]["unit"] == "b" * 16
    assert "other-unit" in tool.cases()["test_tool.py::test_tool"]["cautions"]
    assert "caution other-unit: unit aaaaaa in the baseline, bbbbbb now" in result.stdout.str()


@pytest.mark.parametrize(
    ("mishap", "words"),
    [("ignores-pinning", "accepts fixed-performance mode and does nothing"), ("refuses-pinning", "refuses")],
)
def test_clocks_that_must_be_held_and_cannot_be_end_the_session_before_anything_is_measured(
    tool: Session, mishap: str, words: str
) -> None:
    result = tool.run("--devperf-pin-clocks=on", target=f"sim:pixel-tensor:{mishap}")

    assert result.ret == 4
    shown = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert words in shown
    assert "Pixel 8" in shown
    assert "--devperf-pin-clocks=auto" in shown


def test_clocks_that_cannot_be_pinned_under_auto_are_reported_and_recorded(tool: Session) -> None:
    result = tool.run("--devperf-save=base", "--devperf-json=run.json", target="sim:pixel-tensor:ignores-pinning")

    assert result.ret == 0
    assert "Google Pixel 8 accepts fixed-performance mode and does nothing" in result.outlines[-2]
    assert tool.cases()["test_tool.py::test_tool"]["run_context"]["clock_state"]["pinned"] is False


def test_another_phone_is_another_baseline(tool: Session) -> None:
    tool.run("--devperf-save=base")

    result = tool.run("--devperf-compare=base", target="sim:motorola")

    assert result.ret == 4
    shown = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert "no run with this label for" in shown
    assert "Pixel 8" in shown


def test_a_throttled_phone_is_not_compared_and_the_remedy_is_named(tool: Session) -> None:
    tool.run("--devperf-save=base")
    tool.phone_is(skin_c=52.0, battery_c=44.0)

    result = tool.run("--devperf-compare=base")

    assert result.ret == 1
    flat = " ".join(result.stdout.str().split())
    assert "1 INCOMPARABLE" in flat
    assert "throttled" in flat
    assert "--devperf-cooldown" in flat


def test_a_phone_that_could_run_none_of_the_cases_fails_the_session(session: Session) -> None:
    session.pytester.makepyfile("def test_call(devperf):\n    devperf(sorted, [3, 1])\n")

    result = session.run()

    assert result.ret == 1
    result.assert_outcomes(skipped=1)


def test_hostile_names_reach_the_phone_unharmed(session: Session) -> None:
    folder = session.path / "it's a $(touch gone) ü"
    folder.mkdir()
    (folder / "test's.py").write_text("")
    (session.path / "tool.sh").rename(folder / "to ol';&.sh")
    (folder / "test_odd.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('word', [\"a'b $(touch gone) | ; ü\"])\n"
        "def test_odd(devperf, word):\n"
        '    name = "to ol\';&.sh"\n'
        "    devperf.command(['sh', name, '{iterations}', word], push=[name], environment={'W': word})\n"
    )

    result = session.run(str(folder / "test_odd.py"))

    assert result.ret == 0
    result.assert_outcomes(passed=1)
    assert not list(session.path.rglob("gone"))


def test_energy_is_reported_if_the_phone_runs_on_its_battery(tool: Session) -> None:
    tool.phone_is(plugged=False)

    result = tool.run("--devperf-save=base", "--devperf-json=run.json", "--devperf-round-cooldown=60")

    assert result.ret == 0
    metrics = {metric["name"]: metric for metric in tool.cases()["test_tool.py::test_tool"]["metrics"]}
    assert metrics["energy"]["unit"] == "mJ"
    assert metrics["energy"]["robust"] > 0


def test_a_phone_without_a_temperature_gets_a_fixed_wait_that_is_reported_and_recorded(
    tool: Session,
) -> None:
    tool.phone_is(faked_battery_c=0.0)  # what a missing thermometer answers

    result = tool.run("--devperf-cooldown=auto", "--devperf-json=run.json", target="sim:hal-not-ready")

    assert result.ret == 0
    notes = tool.cases()["test_tool.py::test_tool"]["run_context"]["notes"]
    waits = [note for note in notes if "waited" in note]
    assert len(waits) == 1
    assert waits[0] in result.stdout.str()
