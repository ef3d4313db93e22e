"""Which cautions a run gives itself, and which of them refuse a comparison."""

from __future__ import annotations

import pytest

from pytest_devperf.measure.round import Round
from pytest_devperf.measure.stability import ADVICE, Quality
from pytest_devperf.record.caution import CAUTIONS, refusing
from pytest_devperf.record.own_cautions import RunFacts, own_cautions
from pytest_devperf.sensor.run_context import RunContext

REFUSING = {
    "throttled",
    "clock-capped",
    "power-changed",
    "hot-start",
    "busy-host",
    "contended",
    "faked-sensors",
    "slept",
    "instrumented",
    "provider-fell-back",
    "unseeded",
    "imported",
}

REPORTED = {
    "blind",
    "sensor-failed",
    "low-battery",
    "charging",
    "emulator",
    "debug-build",
    "other-unit",
    "os-changed",
    "runtime-changed",
    "model-changed",
    "unknown-context",
    "unknown-throttling",
    "few-rounds",
    "one-start",
    "shared-process",
    "whole-program",
    "left-running",
    "uncounted-children",
    "not-counted",
    "children-not-counted",
    "noisy",
    "untrustworthy",
}


def burst(**fields: object) -> Round:
    return Round(process=0, samples_ns=(1.0,), **fields)  # type: ignore[arg-type]  # the test names the fields


def context(**fields: object) -> RunContext:
    return RunContext(**fields)  # type: ignore[arg-type]  # the test names the fields


def slugs(run_context: RunContext | None = None, **facts: object) -> list[str]:
    return list(own_cautions(run_context or RunContext(), RunFacts(**facts)))  # type: ignore[arg-type]  # as above


def test_every_promised_caution_has_words_and_refuses_as_promised() -> None:
    assert {slug for slug, caution in CAUTIONS.items() if caution.refuses} == REFUSING | {"throttled-outside"}
    assert {slug for slug, caution in CAUTIONS.items() if not caution.refuses} == REPORTED
    assert all(caution.words and caution.slug == slug for slug, caution in CAUTIONS.items())


def test_a_run_without_any_sign_has_no_caution() -> None:
    facts = RunFacts(
        rounds=[burst(throttled=False, wall_ns=100, waited_ns=1)], processes=3, rounds_run=12, rounds_planned=12
    )

    assert own_cautions(context(throttled=False, prerun_cpu_pct=3.0, battery_pct=90.0, charging=False), facts) == {}


def test_nothing_known_makes_no_caution() -> None:
    assert slugs() == []


@pytest.mark.parametrize(
    ("kind", "in_round", "caution"),
    [
        ("host", True, "throttled"),
        ("host", False, "throttled-outside"),
        ("android", True, "throttled"),
        ("android", False, "throttled"),
    ],
)
def test_on_a_host_throttling_outside_the_rounds_is_another_caution(kind: str, in_round: bool, caution: str) -> None:
    assert slugs(context(throttled=True), kind=kind, rounds=[burst(throttled=in_round)]) == [caution]


def test_the_words_count_throttled_rounds_and_name_the_heat() -> None:
    facts = RunFacts(rounds=[burst(throttled=True), burst(throttled=False)])

    assert own_cautions(context(throttled=True, temp_max_c=96.4), facts) == {
        "throttled": "throttled in 1 of 2 rounds, 96 °C at most"
    }


@pytest.mark.parametrize(("percent", "limit", "busy"), [(30.0, 30.0, False), (31.0, 30.0, True), (31.0, 50.0, False)])
def test_a_host_is_busy_above_a_limit_that_can_be_set(percent: float, limit: float, busy: bool) -> None:
    found = own_cautions(context(prerun_cpu_pct=percent), RunFacts(), busy_cpu_percent=limit)

    assert ("busy-host" in found) is busy


@pytest.mark.parametrize(
    ("waits_ns", "contended"),
    [
        ([100, 100, 100], False),
        ([101, 101, 5], True),
        ([900, 5, 5], False),
        ([101, 5], False),
        ([None, None, 101], True),
        ([None], False),
    ],
)
def test_waiting_for_more_than_a_tenth_of_most_rounds_is_contention(
    waits_ns: list[int | None], contended: bool
) -> None:
    rounds = [burst(wall_ns=1000, waited_ns=waited_ns) for waited_ns in waits_ns]

    assert (slugs(rounds=rounds) == ["contended"]) is contended


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("thermalservice: HAL Ready: false", " (thermalservice: HAL Ready: false)"),
        ("thermalservice: Can't find service: thermalservice", " (thermalservice: Can't find service: thermalservice)"),
        ("battery: no answer", ""),
    ],
)
def test_a_phone_that_does_not_show_whether_it_throttled_reports_it(note: str, words: str) -> None:
    found = own_cautions(context(notes=(note,)), RunFacts(kind="android"))

    assert found == {"unknown-throttling": f"nothing shows whether the device throttled{words}"}


def test_a_sensor_of_a_plugin_that_failed_shows_why() -> None:
    notes = ("thermal: unreadable", "sensor room: no such file", *(f"sensor rack: {n} K" for n in range(4)))
    assert own_cautions(context(notes=notes), RunFacts()) == {
        "sensor-failed": "room: no such file; rack: 0 K; rack: 1 K and 2 other failures"
    }


def test_what_a_host_cannot_show_is_nothing_special() -> None:
    assert slugs(context()) == []


def test_one_round_in_which_the_machine_slept_is_enough() -> None:
    assert slugs(rounds=[burst(), burst(slept=True)]) == ["slept"]


def test_coverage_is_reported_with_the_option_to_disable_it() -> None:
    assert own_cautions(RunContext(), RunFacts(instrumented="coverage")) == {
        "instrumented": "coverage traced the measuring thread; measure with --no-cov"
    }
    assert "--no-cov" not in own_cautions(RunContext(), RunFacts(instrumented="a debugger (pdb)"))["instrumented"]


@pytest.mark.parametrize(("level", "low"), [(24.9, True), (25.0, False)])
def test_a_battery_is_low_under_a_quarter(level: float, low: bool) -> None:
    assert (slugs(context(battery_pct=level)) == ["low-battery"]) is low


@pytest.mark.parametrize(
    ("planned", "run", "ended_early", "few"),
    [
        (12, 12, False, False),
        (12, 3, True, False),
        (12, 4, False, True),
        (4, 4, False, True),
        (None, None, False, False),
    ],
)
def test_few_rounds_are_those_planned_or_cut_off_not_those_saved(
    planned: int | None, run: int | None, ended_early: bool, few: bool
) -> None:
    found = slugs(rounds_planned=planned, rounds_run=run, ended_early=ended_early)

    assert (found == ["few-rounds"]) is few


@pytest.mark.parametrize(
    ("facts", "caution"),
    [
        ({"processes": 1}, "one-start"),
        ({"emulator": True}, "emulator"),
        ({"debug_build": True}, "debug-build"),
        ({"shared_process": True}, "shared-process"),
        ({"timed_whole": True}, "whole-program"),
        ({"uncounted_children": True}, "uncounted-children"),
        ({"unseeded": ["argument 0"]}, "unseeded"),
        ({"rounds": [burst(left="sleep 5"), burst()]}, "left-running"),
        ({"quality": "NOISY"}, "noisy"),
        ({"quality": "UNTRUSTWORTHY"}, "untrustworthy"),
    ],
)
def test_the_facts_of_a_run_are_shown(facts: dict[str, object], caution: str) -> None:
    assert slugs(**facts) == [caution]


@pytest.mark.parametrize("quality", ADVICE)
def test_a_grade_is_shown_with_advice(quality: Quality) -> None:
    (words,) = own_cautions(context(), RunFacts(quality=quality)).values()

    assert words.endswith(f"the stability target: {ADVICE[quality]}")


def test_a_single_round_does_not_vary() -> None:
    (words,) = own_cautions(context(), RunFacts(quality="UNTRUSTWORTHY", rounds_run=1)).values()

    assert words.startswith("one round does not show how much rounds vary: ")
    assert "--devperf-rounds" in words


def test_sensors_of_a_phone_are_reported() -> None:
    assert slugs(context(throttled=False, faked=True, charging=True), kind="android") == ["faked-sensors", "charging"]


def test_a_stable_run_has_no_grade_to_report() -> None:
    assert slugs(quality="STABLE") == []


def test_on_a_phone_every_refusing_caution_refuses() -> None:
    assert set(refusing(CAUTIONS, kind="android")) == REFUSING | {"throttled-outside"}


def test_a_host_only_reports_some() -> None:
    shown = {"hot-start", "busy-host", "throttled-outside", "contended"}

    assert set(refusing(CAUTIONS, kind="host")) == REFUSING - shown
    assert set(refusing(CAUTIONS, kind="host", strict_context=True)) == REFUSING | {"throttled-outside"}


def test_cautions_are_accepted_one_by_one() -> None:
    assert refusing(["throttled", "slept", "noisy"], kind="host", accept={"throttled"}) == ("slept",)


def test_an_unknown_caution_is_only_reported() -> None:
    assert refusing(["made-up"], kind="android") == ()
