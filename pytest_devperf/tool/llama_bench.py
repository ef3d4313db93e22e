"""llama.cpp's `llama-bench -o json` or `-o jsonl`."""

from __future__ import annotations

import json
from typing import Any

from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.reading import durations_ns, guarded, json_in, output_of, refuse

TOOL = "llama-bench"

NEXT_STEP = "call it with -o json; its log goes to stderr"


@guarded(TOOL, NEXT_STEP)
def parse_llama_bench(text: str) -> Output:
    """Read the time of each repetition of each test, and its tokens per second.

    A test is named as llama-bench does: `pp512` (prompt), `tg128` (generation), `pp512+tg128`, `@ d4096` (depth).

    Raises:
        CaseError: There is no whole JSON of tests.
    """
    tests = _tests(text)
    series: dict[str, tuple[float, ...]] = {}
    values = {}
    for test in tests:
        if "avg_ns" not in test and "samples_ns" not in test:
            refuse(TOOL, "holds JSON without 'samples_ns'", text, NEXT_STEP)
        name = _name(test, series)
        series[name] = durations_ns(test.get("samples_ns") or [test.get("avg_ns")], 1, TOOL, text)
        if isinstance(test.get("avg_ts"), (int, float)):
            rate = "tokens_per_s" if len(tests) == 1 else f"{name}.tokens_per_s"
            values[rate] = Value(value=float(test["avg_ts"]), unit="1/s", better="higher")
    return output_of(series, values)


def _tests(text: str) -> list[dict[str, Any]]:
    """Find the tests: one array, or one object a line."""
    found = json_in(text, TOOL, NEXT_STEP)
    if isinstance(found, list):
        return found
    lines = [line for line in text.splitlines() if line.startswith("{")]
    try:
        return [json.loads(line) for line in lines]
    except json.JSONDecodeError:
        refuse(TOOL, "holds a line of JSON that is cut off", text, NEXT_STEP)


def _name(test: dict[str, Any], taken: dict[str, tuple[float, ...]]) -> str:
    """Name a test; the same test of another setting gets a number behind it."""
    prompt, generated, depth = (int(test.get(key) or 0) for key in ("n_prompt", "n_gen", "n_depth"))
    parts = [f"pp{prompt}"] * bool(prompt) + [f"tg{generated}"] * bool(generated)
    name = ("+".join(parts) or "test") + (f" @ d{depth}" if depth else "")
    number = 2
    while name in taken:
        name, number = f"{name.partition(' #')[0]} #{number}", number + 1
    return name
