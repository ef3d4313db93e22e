"""Run documents survive the way through bytes, and nothing else passes for one."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_devperf.case.plan import Plan
from pytest_devperf.errors import StoreError
from pytest_devperf.record.codec import decode, decode_heads, encode, settings_of
from pytest_devperf.record.record import (
    Confirmation,
    DeviceRecord,
    Document,
    Measurement,
    Record,
    Run,
    Summary,
    WorkloadRecord,
)
from pytest_devperf.sensor.run_context import ClockState, During, RunContext

number = st.floats(allow_nan=False, allow_infinity=False, width=64)
duration = st.floats(min_value=0.5, max_value=1e12, exclude_min=True)
maybe = st.one_of(st.none(), number)
word = st.text(max_size=12)
facts = st.dictionaries(
    word, st.recursive(st.none() | st.booleans() | st.integers() | number | word, st.lists), max_size=3
)
plain = st.dictionaries(word, st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | number | word, max_size=3)


@st.composite
def measurements(draw):
    rows = draw(st.integers(0, 4))
    process = tuple(draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows)))
    samples = tuple(tuple(draw(st.lists(duration, min_size=1, max_size=4))) for _ in range(rows))
    loops = draw(st.sampled_from([1, 7]))
    return Measurement(
        name=draw(word),
        unit="ms",
        process=process,
        inner_loops=loops,
        samples_ns=samples,
        cpu_ns=tuple(draw(st.none() | st.integers(0, 10**12)) for _ in range(rows)),
        anchor_ns=tuple(draw(st.none() | duration) for _ in range(rows)),
        temp_c=tuple(draw(st.none() | st.floats(-40, 200)) for _ in range(rows)),
        clock_khz=tuple(draw(st.none() | st.integers(0, 10**8)) for _ in range(rows)),
        robust=draw(maybe),
        iqr=draw(maybe),
        confirmation=Confirmation(process=process, samples_ns=samples) if draw(st.booleans()) else None,
        summary=draw(st.none() | st.builds(Summary, **dict.fromkeys(Summary.__struct_fields__, number))),
    )


contexts = st.builds(
    RunContext,
    temp_start_c=maybe,
    throttled=st.none() | st.booleans(),
    clock_state=st.builds(
        ClockState, pinned=st.none() | st.booleans(), max_khz=st.dictionaries(word, st.integers(0, 9**9))
    ),
    during=st.builds(During, peak_cpu_pct=maybe),
    env=st.dictionaries(word, st.none() | word, max_size=2),
    notes=st.lists(word, max_size=2).map(tuple),
)
records = st.builds(
    Record,
    id=word,
    workload=st.builds(WorkloadRecord, fingerprint=word, kind=st.just("call"), facts=facts),
    run_context=contexts,
    metrics=st.lists(measurements(), max_size=2).map(tuple),
    caution_notes=st.dictionaries(word, word, max_size=2),
)
runs = st.builds(
    Run,
    taken_at=st.just("2026-11-29T20:15:03Z"),
    devperf_version=word,
    device=st.builds(
        DeviceRecord, fingerprint=word, kind=word, model=st.none() | word, cores=st.none() | st.integers(1, 999)
    ),
    settings=plain,
    run_context=contexts,
    cases=st.lists(records, max_size=2).map(tuple),
    missing=st.lists(word, max_size=2).map(tuple),
)


NARROW = Confirmation(process=(0,), samples_ns=((1.0,), (2.0,)))
"""Two rows of one process start."""


def a_document(**measured) -> Document:
    measurement = {
        "name": "latency",
        "unit": "ms",
        "main": True,
        "process": (0, 1),
        "inner_loops": 1,
        "samples_ns": ((1000.0, 1001.0), (1002.5, 1003.0)),
        **measured,
    }
    record = Record(
        id="test_a.py::test_b",
        workload=WorkloadRecord(fingerprint="w", kind="call"),
        metrics=(Measurement(**measurement),),
    )
    device = DeviceRecord(fingerprint="0123456789ab", kind="host")
    return Document(
        runs=(Run(id="r1", taken_at="2026-11-29T20:15:03Z", devperf_version="0.1.0", device=device, cases=(record,)),)
    )


@settings(max_examples=25)
@given(st.lists(runs, max_size=2).map(lambda found: Document(runs=tuple(found))))
def test_a_document_comes_back_as_it_went(document):
    assert decode(encode(document), "x") == document


def test_every_row_of_samples_stands_on_one_line():
    lines = [line.strip() for line in encode(a_document()).decode().splitlines()]

    assert "[1000,1001]," in lines
    assert "[1002.5,1003]" in lines


def test_samples_of_inner_loops_stay_floating():
    assert b"[1000.0,1001.0]" in encode(a_document(inner_loops=20))


def test_what_is_not_known_is_null():
    written = json.loads(encode(a_document()))

    assert written["runs"][0]["run_context"]["temp_start_c"] is None
    assert written["runs"][0]["cases"][0]["metrics"][0]["robust"] is None


def test_keys_come_in_the_order_of_the_types():
    written = json.loads(encode(a_document()))

    assert list(written) == ["schema", "runs"]
    assert tuple(written["runs"][0]) == Run.__struct_fields__


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_a_duration_that_is_none_is_never_written(bad):
    with pytest.raises(StoreError, match=r"latency of case 'test_a.py::test_b' has a duration that is not a positive"):
        encode(a_document(samples_ns=((1.0, 2.0), (bad, 1.0))))


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_no_other_number_is_written_as_something_else_either(bad):
    with pytest.raises(StoreError, match=r"cases\.0\.metrics\.0\.robust is not a finite number"):
        encode(a_document(robust=bad))


def test_a_recorded_nan_is_refused_too():
    with pytest.raises(StoreError, match="samples"):
        encode(a_document(samples_ns=None, samples=((1.0,), (math.nan,))))


def test_odd_parameters_never_lose_a_run():
    document = a_document()
    workload = WorkloadRecord(
        fingerprint="w",
        kind="call",
        facts={"tuple key": {(1, 2): "x"}, "object": object, "huge": 10**40, "name": "\udce9", "bytes": b"\x00"},
    )
    case = replace(document.runs[0].cases[0], workload=workload)
    written = encode(Document(runs=(replace(document.runs[0], cases=(case,)),)))

    facts = decode(written, "x").runs[0].cases[0].workload.facts
    assert facts["object"] == "<class 'object'>"
    assert facts["name"] == "\\udce9"
    assert "(1, 2)" in str(facts["tuple key"])


def test_unknown_keys_of_a_later_release_are_passed_over():
    written = json.loads(encode(a_document()))
    written["new"] = 1
    written["runs"][0]["cases"][0]["metrics"][0]["new"] = {"a": 1}

    assert decode(json.dumps(written).encode(), "x") == a_document()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"[]",
        b"{}",
        b'{"runs": []}',
        b'{"schema": 1, "runs": []}',
        b'{"schema": "other/1", "runs": []}',
        b'{"machine_info": {}, "benchmarks": []}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
def test_a_foreign_file_is_named_as_such(data):
    with pytest.raises(StoreError, match=r"^a/b\.json is not a pytest-devperf run document: "):
        decode(data, "a/b.json")


def test_a_newer_version_shows_what_reads_it():
    data = b'{"schema": "pytest-devperf/2", "runs": [{"devperf_version": "3.1.0", "shape": "other"}]}'

    with pytest.raises(StoreError, match=r"x has version '2', not '1': install pytest-devperf 3\.1\.0, which wrote it"):
        decode(data, "x")


def test_a_truncated_document_is_damaged_not_foreign():
    with pytest.raises(StoreError, match=r"^x is damaged: .*restore it from a copy or delete it"):
        decode(encode(a_document())[:-40], "x")


@pytest.mark.parametrize("key", ["outcome", "suite", "iterations", "id"])
def test_a_long_value_of_a_wrong_kind_does_not_fill_the_message(key):
    written = json.loads(encode(a_document()))
    written["runs"][0]["cases"][0][key] = ["\x1b" * 100_000] if key == "id" else "x" * 100_000
    if key == "suite":
        written["runs"][0]["cases"][0]["outcome"] = "x" * 100_000

    with pytest.raises(StoreError, match="is damaged") as refused:
        decode(json.dumps(written).encode(), "x.json")
    assert len(str(refused.value)) < 600
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("digits", [20, 450, 4000])
@pytest.mark.parametrize("key", ["process", "inner_loops", "cpu_ns", "planned_rounds"])
def test_an_integer_that_no_machine_counts_to_is_damage(key, digits):
    written = json.loads(encode(a_document()))
    metric = written["runs"][0]["cases"][0]["metrics"][0]
    metric[key] = [10**digits] * len(metric["process"]) if isinstance(metric[key], list) else 10**digits

    with pytest.raises(StoreError, match="is damaged"):
        decode(json.dumps(written).encode(), "x.json")


def test_a_clock_that_no_processor_has_is_damage():
    written = json.loads(encode(a_document()))
    written["runs"][0]["run_context"]["clock_state"]["max_khz"] = {"policy0": 10**400}

    with pytest.raises(StoreError, match="is damaged: a clock in it"):
        decode(json.dumps(written).encode(), "x.json")


def test_a_git_lfs_pointer_is_called_so_and_how_to_fetch_the_file():
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"

    for read in (decode, decode_heads):
        with pytest.raises(StoreError, match=r"x\.json is a Git LFS pointer, .*git lfs pull"):
            read(pointer, "x.json")


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [("taken_at", 5, r"\$\.runs\[0\]\.taken_at"), ("cases", {}, r"\$\.runs\[0\]\.cases"), ("device", None, "device")],
)
def test_a_wrong_type_is_damage_with_its_place(key, value, place):
    written = json.loads(encode(a_document()))
    written["runs"][0][key] = value

    with pytest.raises(StoreError, match=f"x is damaged: .*{place}"):
        decode(json.dumps(written).encode(), "x")


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({"process": (0,)}, "2 rows of samples but 1 process start"),
        ({"anchor_ns": (5.0,)}, "2 rows of samples but 1 value of anchor_ns"),
        ({"cpu_ns": (5, 6, 7)}, "2 rows of samples but 3 values of cpu_ns"),
        ({"temp_c": (5.0,)}, "2 rows of samples but 1 value of temp_c"),
        ({"clock_khz": (5,)}, "2 rows of samples but 1 value of clock_khz"),
        ({"confirmation": NARROW}, "2 rows of samples but 1 process"),
        ({"against": NARROW}, "2 rows of samples but 1 process"),
    ],
)
def test_rows_that_do_not_fit_are_refused_both_ways(measured, words):
    with pytest.raises(StoreError, match=words):
        encode(a_document(**measured))

    written = json.loads(encode(a_document()))
    written["runs"][0]["cases"][0]["metrics"][0].update(msgspec.to_builtins(measured))
    with pytest.raises(StoreError, match=f"latency of case 'test_a.py::test_b' has {words}"):
        decode(json.dumps(written).encode(), "x")


def test_a_zero_in_a_file_is_left_to_the_comparison():
    data = encode(a_document()).replace(b"[1000,1001]", b"[0,1001]")

    assert decode(data, "x").runs[0].cases[0].metrics[0].samples_ns[0] == (0.0, 1001.0)


def test_a_byte_order_mark_does_no_harm():
    assert decode(b"\xef\xbb\xbf" + encode(a_document()), "x") == a_document()


def test_heads_are_read_without_cases():
    (head,) = decode_heads(encode(a_document()), "x")

    assert (head.id, head.taken_at, head.device.fingerprint) == ("r1", "2026-11-29T20:15:03Z", "0123456789ab")


def test_settings_are_the_fields_of_a_plan_with_their_units():
    found = settings_of(Plan())

    assert found["round_cooldown_s"] is None
    assert found["max_time_s"] == 60.0
    assert "max_time" not in found
    assert len(found) == len(Plan.__dataclass_fields__)


def test_a_setting_that_no_machine_holds_is_damage():
    text = encode(
        Document(
            runs=(
                Run(
                    id="r",
                    taken_at="t",
                    devperf_version="0",
                    device=DeviceRecord(fingerprint="f", kind="host"),
                    settings={"rounds": 1},
                ),
            )
        )
    )

    with pytest.raises(StoreError, match="is damaged"):
        decode(text.replace(b'"rounds": 1', b'"rounds": ' + b"9" * 30), "run.json")
