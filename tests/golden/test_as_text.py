"""The terminal output of a session."""

from __future__ import annotations

from dataclasses import replace as replace_dataclass

import pytest
from hostile import ESCAPES, hostile, is_harmless
from msgspec.structs import replace

from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.noise import noise
from pytest_devperf.compare.policy import Policy
from pytest_devperf.metric import Metric, memory_metric, time_metric
from pytest_devperf.record.derived import derive, stable_of
from pytest_devperf.record.measurement import scalar_measurement
from pytest_devperf.record.record import (
    Change,
    Commit,
    Comparison,
    DeviceRecord,
    Measurement,
    Record,
    Run,
    SkippedMethod,
    WorkloadRecord,
)
from pytest_devperf.report.detail import brief_failure_text, failure_text
from pytest_devperf.report.header import header_lines
from pytest_devperf.report.report import Report, Saved
from pytest_devperf.report.row import compared_rows
from pytest_devperf.report.terminal.noise import render as render_noise
from pytest_devperf.report.terminal.text import render, table_lines
from pytest_devperf.sensor.run_context import ClockState, RunContext

BOARD = DeviceRecord(
    fingerprint="0123456789ab", kind="host", soc="Example CPU 9000", cores=8, memory_gib=16, abi="x86_64"
)
PHONE = DeviceRecord(
    fingerprint="ba9876543210",
    kind="android",
    manufacturer="Example",
    model="Phone 8",
    soc="SoC 1",
    cores=8,
    memory_gib=12,
    abi="arm64-v8a",
    unit="77aa",
)
WARM = RunContext(
    temp_start_c=31.25,
    throttled=False,
    clock_state=ClockState(pinned=True, max_khz={"policy0": 1_980_000}, governor="performance"),
    power_state="battery",
    battery_pct=81.0,
    prerun_cpu_pct=3.1,
    env={"os": "Android 15", "driver": None, "sdk": "onnxruntime 1.32.0", "ep": "CPUExecutionProvider"},
)
WORK = WorkloadRecord(fingerprint="w", kind="call")


def timed(name="latency", ms=0.141, *, main=True) -> Measurement:
    rows = tuple(tuple(round(ms * 1e6 + 900 * r + 37 * (i % 11)) for i in range(30)) for r in range(6))
    metric = time_metric(name)
    made = Measurement(
        name=metric.name, unit="ms", main=main, process=(0, 0, 1, 1, 2, 2), inner_loops=1, samples_ns=rows, tick_ns=1.0
    )
    return derive(made)


def case(name: str, *metrics: Measurement, comparison: Comparison | None = None, **fields) -> Record:
    stable = stable_of(metrics[0], Plan(), rest_s=0.5) if metrics else None
    return Record(id=name, workload=WORK, metrics=metrics, stable=stable, comparison=comparison, **fields)


def change(verdict: str, then: float, now: float, metric="latency", **fields) -> Change:
    return Change(
        metric=metric,
        verdict=verdict,
        baseline=then,
        candidate=now,
        delta=now - then,
        delta_pct=100 * (now / then - 1),
        iqr_baseline=0.011 * then,
        iqr_candidate=0.02 * then,
        threshold=0.02 * then,
        decided_by="iqr",
        **fields,
    )


def compared(verdict: str, *changes: Change, **fields) -> Comparison:
    return Comparison(verdict=verdict, baseline_runs=("9f3c01aa",), changes=changes, **fields)


REGRESSED = case(
    "tests/speech/test_vad.py::test_streaming_voice_activity[silero-16000]",
    timed(ms=14.8),
    scalar_measurement(memory_metric("peak_memory"), [[103.2], [103.25], [103.4]], [1, 2, 3]),
    comparison=compared(
        "regressed",
        change("regressed", 12.31, 14.8, confirmed=True, detectable_pct=2.4),
        change("within_noise", 103.0, 103.25, metric="peak_memory", unit="MiB", detectable_pct=3.0),
        cautions={"os-changed": "os Linux 6.1 -> Linux 6.8"},
        notes=("plan taken from the baseline: 30 iterations",),
    ),
    cautions=("low-battery",),
    caution_notes={"low-battery": "battery at 21 %, below 25 %"},
)

CASES = (
    REGRESSED,
    case(
        "tests/test_a.py::test_suspect",
        timed(),
        comparison=compared("suspect", change("suspect", 0.141, 0.15, confirmed=False, stopped_by="confirm")),
    ),
    case(
        "tests/test_a.py::test_blind",
        timed(),
        comparison=compared("within_noise", change("within_noise", 0.141, 0.1415, detectable_pct=8.24)),
        cautions=("low-battery",),
        caution_notes={"low-battery": "battery at 21 %, below 25 %"},
    ),
    case(
        "tests/test_a.py::test_better",
        timed(),
        comparison=compared("improved", change("improved", 0.2, 0.141, detectable_pct=2.0)),
    ),
    case(
        "tests/test_a.py::test_other_device",
        timed(),
        comparison=compared(
            "incomparable",
            Change(metric="latency", verdict="incomparable", candidate=0.141, reason="clocks were pinned"),
            reason="clocks were pinned",
        ),
    ),
    case(
        "tests/test_a.py::test_slow",
        comparison=compared("inconclusive", reason="latency: too slow for its budget: it needs --devperf-max-time=140"),
    ),
    case(
        "tests/test_a.py::test_new",
        timed(),
        comparison=Comparison(verdict="new", reason="the baseline has no passed run of this case"),
    ),
    case("tests/test_a.py::test_skipped", outcome="skipped", reason="needs a phone"),
    case("tests/test_a.py::test_failed\x1b[31m", outcome="failed", reason="AssertionError: 1 != 2"),
)

SETTINGS = {"suite": "quick", "processes": 3, "rounds": 12, "iterations": 30, "order": "interleaved", "seed": 7}

RUN = Run(
    id="c0ffee01",
    label="main",
    taken_at="2026-11-29T20:15:03Z",
    devperf_version="0.1.0",
    device=BOARD,
    settings=SETTINGS,
    commit=Commit(id="1f2e3d4c5b6a7988", dirty=True, branch="trunk"),
    run_context=RunContext(temp_start_c=48.0, power_state="AC", env={"python": "3.12.1"}),
    cases=CASES,
    missing=("tests/test_a.py::test_gone",),
)

REPORT = Report(
    runs=(RUN,),
    compared_with="main",
    messages=("seed 7 orders the cases",),
    expected_false_alarms=0.0153,
    pending=2,
    saved=(Saved(label="next", path="x", refusals=("throttled",), held_back=(REGRESSED.id,)),),
    closing=("a phone is attached but not set up: devperf setup-android --library FILE",),
)


@pytest.mark.parametrize(("width", "verbosity"), [(200, 0), (100, 0), (80, 0), (40, 0), (200, 1)])
def test_a_session_of_every_outcome(golden, width, verbosity):
    golden(
        f"tests/golden/session_{width}{'_verbose' * verbosity}.txt",
        render(REPORT, width=width, verbosity=verbosity) + "\n",
    )


def test_a_session_without_a_baseline(golden):
    boxes = scalar_measurement(
        Metric(name="boxes_per_s", unit="1/s", better="higher", kind="recorded"), [[812.0]] * 3, [0, 1, 2]
    )
    cases = (
        case("test_a.py::test_steady", timed()),
        case("test_a.py::test_two", timed(ms=2000.0), timed("latency.decode", 4.2e-5, main=False), boxes),
        case(
            "test_a.py::test_model",
            timed("execute.forward", 3.0),
            skipped_methods=(SkippedMethod(method="other", reason="dimension 'seq' has no upper bound"),),
        ),
        case("test_a.py::test_no", outcome="skipped", reason="no runtime"),
    )

    golden(
        "tests/golden/measured.txt", render(Report(runs=(replace(RUN, cases=cases, missing=()),)), verbosity=1) + "\n"
    )


def test_a_regression_explains_itself(golden):
    golden("tests/golden/failure.txt", failure_text(REGRESSED, 90) + "\n")


def test_above_the_table_of_all_cases_a_regression_shows_only_what_the_table_lacks(golden):
    golden("tests/golden/failure_brief.txt", brief_failure_text(REGRESSED) + "\n")


def compared_metrics(*changes: Change) -> Record:
    metrics = [timed(each.metric, main=each.metric == "latency") for each in changes]
    worst = next((each.verdict for each in changes if each.verdict == "regressed"), "within_noise")
    return case("t.py::test_a", *metrics, comparison=compared(worst, *changes))


QUIET = tuple(
    change("within_noise", 1.0, 1.0, metric=name, detectable_pct=seen)
    for name, seen in [("load", 9.0), ("latency", 2.0), ("peak_memory", 3.0)]
)


def rows(record: Record, **how: bool) -> list[tuple[str, str]]:
    return [(metric, verdict) for _, metric, *_, verdict in compared_rows(record, **how)]


def test_metrics_that_did_not_change_are_one_row_with_the_numbers_of_the_main_one():
    (row,) = compared_rows(compared_metrics(*QUIET), folded=True)

    assert row == (
        "t.py::test_a", "latency +2 more", "1.000 ms", "1.000 ms", "+0.0 %", "2.0 %", "2.0 %", "within noise (1 coarse)"
    )  # fmt: skip


def test_beside_a_change_they_are_counted():
    found = rows(compared_metrics(*QUIET, change("regressed", 1.0, 2.0, metric="leaked_memory")), folded=True)

    assert found == [("leaked_memory", "REGRESSED"), ("3 others", "within noise (1 coarse)")]


def test_without_folding_every_metric_has_its_row():
    assert [metric for metric, _ in rows(compared_metrics(*QUIET))] == ["load", "latency", "peak_memory"]


def test_reasons_that_cases_share_appear_once():
    cases = [
        case(f"t.py::test_{name}", timed(), comparison=Comparison(verdict="incomparable", reason="clocks were pinned"))
        for name in "abcde"
    ]
    other = case("t.py::test_other", comparison=compared("within_noise", *QUIET))

    text = render(Report(runs=(replace(RUN, cases=(*cases, other), missing=()),), compared_with="main"), width=200)

    assert "INCOMPARABLE t.py::test_a, t.py::test_b, t.py::test_c and 2 more: clocks were pinned\n" in text


@pytest.mark.parametrize(("expected", "verbosity", "mentioned"), [(0.01, 0, False), (0.01, 1, True), (0.3, 0, True)])
def test_false_alarms_are_mentioned_if_they_matter_or_if_somebody_asks(expected, verbosity, mentioned):
    text = render(replace_dataclass(REPORT, expected_false_alarms=expected), verbosity=verbosity)

    assert ("expected false alarms" in text) is mentioned


def test_the_header_of_a_session_omits_what_pytest_shows_of_this_machine():
    report = Report(runs=(RUN,))

    assert header_lines(report)[0].endswith("0123456789ab); 48.0 °C, AC, python 3.12.1")
    assert header_lines(report, brief=True)[0].endswith("0123456789ab); 48.0 °C, AC")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_of_a_table_is_longer_than_the_terminal(width):
    lines = table_lines(CASES, width=width)

    assert max(map(len, lines)) <= width
    assert sum(line.endswith("  REGRESSED") for line in lines) == 1, "a table, not sentences"


def test_two_devices_are_distinguishable(golden):
    phone = replace(RUN, device=PHONE, run_context=WARM, cases=CASES[3:4], missing=())
    host = replace(RUN, cases=CASES[2:3], missing=())

    golden("tests/golden/two_devices.txt", render(Report(runs=(host, phone), compared_with="main"), width=100) + "\n")


@pytest.mark.parametrize("width", [200, 80, 40])
def test_no_text_of_a_run_commands_the_terminal(width):
    run = hostile(replace(RUN, run_context=WARM, cases=tuple(replace(each, sweep="sizes") for each in CASES)))
    texts = [
        render(
            Report(runs=(run, run), compared_with=ESCAPES, messages=(ESCAPES,), closing=(ESCAPES,)),
            width=width,
            verbosity=1,
        ),
        "\n".join(header_lines(Report(runs=(run,), compared_with=ESCAPES, messages=(ESCAPES,)))),
        *(failure_text(each, width) for each in run.cases),
        render_noise({each.id: noise((each, each, each), Policy()) for each in run.cases}, width=width),
    ]

    assert all(map(is_harmless, texts))


def test_the_header_names_device_state_and_plan(golden):
    report = Report(runs=(replace(RUN, device=PHONE, run_context=WARM),), target="android", compared_with="main")

    golden("tests/golden/header.txt", "\n".join(header_lines(report)) + "\n")
