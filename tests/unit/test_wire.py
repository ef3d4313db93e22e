"""Reports of an app are validated field by field."""

from __future__ import annotations

import json

import pytest

from pytest_devperf.errors import CaseError
from pytest_devperf.targets.app.wire import Begun, CaseReport, FinalReport, parse_body

GOOD = {
    "run": "r1",
    "case": "decode[jpeg-1024]",
    "load_ns": 5_000_000,
    "rounds_ns": {"latency": [[1200, 1180.5], [1210, 1190]]},
    "values": {"boxes": {"value": 12, "unit": "1", "better": "higher"}},
    "memory": {"baseline": 1000, "peak": 5000, "loaded": 3000},
    "facts": {"width": 640, "codec": "jpeg", "hardware": None},
}


def test_a_whole_report_is_read() -> None:
    report = parse_body(json.dumps(GOOD).encode(), CaseReport)

    assert report.case == "decode[jpeg-1024]"
    assert report.outcome == "passed"
    assert report.rounds_ns == {"latency": ((1200, 1180.5), (1210, 1190))}
    assert report.values["boxes"].better == "higher"
    assert report.memory is not None
    assert report.memory.disposed is None
    assert report.facts["hardware"] is None


def test_a_field_that_is_not_known_yet_does_no_harm() -> None:
    assert parse_body(json.dumps({**GOOD, "battery": 81}).encode(), CaseReport).case == GOOD["case"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"case": "../../etc/passwd"}, "$.case"),
        ({"case": "a\\b"}, "$.case"),
        ({"case": ".."}, "$.case"),
        ({"case": "a\nb"}, "$.case"),
        ({"case": "a\n"}, "$.case"),
        ({"case": "\x1b[31mred"}, "$.case"),
        ({"case": ""}, "$.case"),
        ({"case": "x" * 201}, "$.case"),
        ({"rounds_ns": {"a/b": [[1]]}}, "rounds_ns"),
        ({"case": "a\x9b31m"}, "$.case"),
        ({"case": "a\u202eb"}, "$.case"),
        ({"rounds_ns": {"latency": [[0]]}}, ">= 1e-06"),
        ({"rounds_ns": {"latency": [[-5]]}}, ">= 1e-06"),
        ({"rounds_ns": {"latency": [[1e300]]}}, "<= 1"),
        ({"rounds_ns": {"latency": [[1e-300]]}}, ">= 1e-06"),
        ({"rounds_ns": {"latency": [[10**450]]}}, "out of range"),
        ({"rounds_ns": {"latency": [["5"]]}}, "rounds_ns"),
        ({"rounds_ns": {"latency": [[]]}}, "length >= 1"),
        ({"rounds_ns": {"latency": []}}, "length >= 1"),
        ({"rounds_ns": {f"m{n}": [[1]] for n in range(65)}}, "length <= 64"),
        ({"rounds_ns": {}, "values": {}}, "a passed case has rounds_ns or values"),
        ({"outcome": "failed"}, "a failed case has a reason"),
        ({"outcome": "great"}, "$.outcome"),
        ({"memory": {"baseline": -1, "peak": 5}}, "$.memory.baseline"),
        ({"memory": {"peak": 5}}, "baseline"),
        ({"memory": {"baseline": 0, "peak": 10**25}}, "$.memory.peak"),
        ({"values": {"x": {"value": 1e300, "unit": "1"}}}, "<= 1"),
        ({"values": {"x": {"value": 1e-300, "unit": "1"}}}, "nothing measures"),
        ({"values": {"x": {"value": 1, "unit": "\x1b[2J"}}}, "unit"),
        ({"facts": {"boxes": 10**25}}, "facts"),
        ({"inner_loops": 0}, "$.inner_loops"),
        ({"inner_loops": 10**13}, "$.inner_loops"),
        ({"load_ns": 0}, "$.load_ns"),
        ({"run": None}, "$.run"),
        ({"run": "r" * 100_000}, "$.run"),
        ({"outcome": "x" * 100_000}, "$.outcome"),
    ],
)
def test_a_wrong_field_is_refused_and_named(change: dict, words: str) -> None:
    with pytest.raises(CaseError) as refused:
        parse_body(json.dumps({**GOOD, **change}).encode(), CaseReport)

    assert words in str(refused.value)
    assert len(str(refused.value)) < 500
    assert "docs/wire.md" in refused.value.next_step


@pytest.mark.parametrize("body", [b"", b"hello", b"\xff\xfe", b"[]", b'{"run": "r"', b"[" * 100_000, b'{"a": NaN}'])
def test_a_body_that_is_not_a_report_is_refused(body: bytes) -> None:
    for kind in (Begun, CaseReport, FinalReport):
        with pytest.raises(CaseError, match="the body is no"):
            parse_body(body, kind)


def test_infinity_is_not_a_duration() -> None:
    body = json.dumps({**GOOD, "rounds_ns": {"latency": [[1]]}}).replace("[[1]]", "[[1e999]]")

    with pytest.raises(CaseError):
        parse_body(body.encode(), CaseReport)
