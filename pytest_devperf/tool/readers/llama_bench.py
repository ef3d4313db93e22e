"""Parse the output of llama.cpp's `llama-bench -o json` or `-o jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_devperf.metric import is_recorded_value
from pytest_devperf.tool.extract import distinct, durations_ns, guarded, json_in, output_of, refuse
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.untrusted import parse_json

TOOL = "llama-bench"

NEXT_STEP = "call it with -o json; its log goes to stderr"


@guarded(TOOL, NEXT_STEP)
def parse_llama_bench(text: str) -> Output:
    """Parse the time of each repetition of each test, and its tokens per second.

    A test is named as llama-bench does: `pp512` (prompt), `tg128` (generation), `pp512+tg128`, `@ d4096` (depth).

    Raises:
        CaseError: It is not complete JSON, or contains no test.
    """
    tests = _tests(text)
    names = distinct(map(_name, tests))
    series = []
    values = {}
    for name, test in zip(names, tests, strict=True):
        if "avg_ns" not in test and "samples_ns" not in test:
            refuse(TOOL, "holds JSON without 'samples_ns'", text, NEXT_STEP)
        series.append(durations_ns(test.get("samples_ns") or [test.get("avg_ns")], 1, TOOL, text))
        if is_recorded_value(test.get("avg_ts")):
            rate = "tokens_per_s" if len(tests) == 1 else f"{name}.tokens_per_s"
            values[rate] = Value(value=float(test["avg_ts"]), unit="1/s", better="higher")
    return output_of(names, series, values)


def _tests(text: str) -> list[dict[str, Any]]:
    """Return the tests, from one array or from one object per line."""
    found = json_in(text, TOOL, NEXT_STEP)
    if isinstance(found, list):
        return found
    lines = [line for line in text.splitlines() if line.startswith("{")]
    try:
        return [parse_json(line) for line in lines]
    except ValueError:
        refuse(TOOL, "contains a line of JSON that is cut off", text, NEXT_STEP)


def _name(test: Mapping[str, Any]) -> str:
    """Name a test as llama-bench does; the same test with other settings has the same name."""
    prompt, generated, depth = (int(test.get(key) or 0) for key in ("n_prompt", "n_gen", "n_depth"))
    parts = [f"pp{prompt}"] * bool(prompt) + [f"tg{generated}"] * bool(generated)
    return ("+".join(parts) or "test") + (f" @ d{depth}" if depth else "")
