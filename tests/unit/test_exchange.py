"""Results of other tools become runs, and runs become files that other tools read."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.fuzz.seeds import IMPORTS, TOOLS
from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import index
from pytest_devperf.compare.policy import Policy
from pytest_devperf.errors import UsageError
from pytest_devperf.exchange.exports import EXPORTS
from pytest_devperf.exchange.imported import Imported
from pytest_devperf.exchange.imports import FORMATS, make_run, parse_import, rounds_of_samples
from pytest_devperf.exchange.pytest_benchmark import PYTEST_BENCHMARK
from pytest_devperf.record.codec import decode, encode
from pytest_devperf.record.record import Document, Run, WorkloadRecord


def _run(found: Imported, label: str = "old") -> Run:
    return make_run(
        found, label=label, device=found.device, taken_at="2026-11-29T20:15:03Z", version="0", run_id="1a2b3c4d"
    )


def _document(**changes: Any) -> str:
    document = json.loads(IMPORTS[0])
    document["benchmarks"][0].update(changes)
    return json.dumps(document)


def test_a_file_of_pytest_benchmark_becomes_cases_with_their_node_ids_in_ns() -> None:
    found = parse_import(PYTEST_BENCHMARK, IMPORTS[0], "a.json")
    run = _run(found)
    first, second = run.cases
    assert (first.id, first.group, first.extra_info) == ("test_it.py::test_sort", "sort", {"rows": 3})
    assert first.metrics[0].samples_ns == ((1250.0,), (1500.0,), (1750.0,))
    assert first.metrics[0].inner_loops == 10
    assert second.metrics[0].median == 250.0
    assert (run.commit.id, run.device.soc, run.settings) == ("1f2e", "AMD EPYC", {"imported_from": PYTEST_BENCHMARK})
    assert found.taken_at == "2026-11-29T20:15:03Z"
    assert first.cautions == ("imported", "one-start")


@pytest.mark.parametrize("tool", FORMATS)
def test_what_is_imported_can_be_stored_and_read_again(tool: str) -> None:
    text = IMPORTS[0] if tool == PYTEST_BENCHMARK else TOOLS[tool][0]
    run = _run(parse_import(tool, text, "a.json"))
    assert run.cases
    assert decode(encode(Document(runs=(run,))), "a.json").runs == (run,)


@pytest.mark.parametrize("tool", FORMATS)
@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"benchmarks": []}', '{"benchmarks": [3]}', '{"results": [[]]}']
)
def test_a_bad_file_is_refused_in_one_line_that_names_it(tool: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_import(tool, text, "a.json")
    assert str(caught.value).startswith(f"a.json: the output of {tool} ")
    assert "\n" not in str(caught.value)
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stats": {"mean": 1.0, "iterations": 1}}, "only a summary of 'test_it.py::test_sort'"),
        ({"stats": {"data": [0.0], "iterations": 1}}, "contains the duration 0.0"),
        ({"stats": {"data": ["1"], "iterations": 1}}, "contains the duration '1'"),
        ({"fullname": 3}, "unexpected structure"),
        ({"stats": None}, "unexpected structure"),
    ],
)
def test_a_file_without_samples_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=r"^a\.json: ") as caught:
        parse_import(PYTEST_BENCHMARK, _document(**changes), "a.json")
    assert words in str(caught.value)


@given(st.lists(st.floats(min_value=1, max_value=1e9), min_size=1, max_size=5000))
@settings(deadline=None, max_examples=30)
def test_rounds_have_one_size_and_samples_in_order(samples: list[float]) -> None:
    rows = rounds_of_samples(samples)
    assert 1 <= len(rows) <= 100
    assert len({len(row) for row in rows}) == 1
    assert len(rows[0]) <= 30
    rest = iter(samples)
    assert all(value in rest for row in rows for value in row)


def _measured(run: Run) -> Run:
    """Pretend that the same samples were measured by devperf."""
    workload = WorkloadRecord(fingerprint="0123456789abcdef", kind="call")
    cases = tuple(replace(case, workload=workload, cautions=(), caution_notes={}) for case in run.cases)
    return replace(run, cases=cases)


def test_a_measured_run_is_compared_with_an_imported_one_only_if_that_is_accepted() -> None:
    data = [1e-6 * (1 + at % 7 / 1000) for at in range(360)]
    text = _document(stats={"data": data, "iterations": 10})
    run = _run(parse_import(PYTEST_BENCHMARK, text, "a.json"))
    record = _measured(run).cases[0]
    baseline = index([run], run.device.fingerprint)[record.id]
    refused = compare(record, baseline, Policy())
    assert refused.verdict == "incomparable"
    assert "imported in the baseline" in str(refused.reason)
    assert "--devperf-accept=imported" in str(refused.reason)
    accepted = compare(record, baseline, Policy(accept=frozenset({"imported"})))
    assert accepted.verdict != "incomparable"


HOSTILE = ["=1+1", '@SUM("a")', "a\x1b[31mred", "a,b\nc", "<script>|`", "é\ud800", "-1", ""]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", sorted(set(EXPORTS) - {"markdown"}))
def test_hostile_names_stay_data_in_every_export(name: str, form: str) -> None:
    run = _run(parse_import(PYTEST_BENCHMARK, IMPORTS[0], "a.json"))
    run = replace(run, cases=(replace(run.cases[0], id=name),))
    text = EXPORTS[form]([run], "lower")
    assert "\x1b" not in text
    text.encode()
    if form == "csv":
        (row,) = csv.DictReader(io.StringIO(text))
        assert not row["case"].startswith(("=", "@", "-", "+"))
        assert float(row["median"]) == run.cases[0].metrics[0].median
    else:
        json.loads(text)


def test_github_action_benchmark_gets_one_direction() -> None:
    run = _run(parse_import(PYTEST_BENCHMARK, IMPORTS[0], "a.json"))
    entries = json.loads(EXPORTS["benchmark-action"]([run], "lower"))
    assert [entry["name"] for entry in entries] == ["test_it.py::test_sort: latency", "test_it.py::test_sum: latency"]
    assert {"name", "unit", "value"} <= set(entries[0]) <= {"name", "unit", "value", "range", "extra"}
    assert entries[1]["value"] == pytest.approx(250.0)
    with pytest.raises(UsageError, match="no value for which higher is better"):
        EXPORTS["benchmark-action"]([run], "higher")


def test_bencher_gets_times_in_ns_within_their_bounds() -> None:
    run = _run(parse_import(PYTEST_BENCHMARK, IMPORTS[0], "a.json"))
    found = json.loads(EXPORTS["bencher"]([run], "lower"))
    assert found["test_it.py::test_sum"]["latency"]["value"] == pytest.approx(250_000_000)
    for measures in found.values():
        for values in measures.values():
            assert values["lower_value"] <= values["value"] <= values["upper_value"]
