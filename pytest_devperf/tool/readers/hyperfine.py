"""Parse hyperfine's `--export-json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_devperf.metric import NS_PER_S
from pytest_devperf.tool.extract import distinct, durations_ns, guarded, json_in, peak_bytes, refuse
from pytest_devperf.tool.output import Output

TOOL = "hyperfine"

NEXT_STEP = "call it with --export-json=FILE and read the file (/dev/stdout with --style=none)"


@guarded(TOOL, NEXT_STEP)
def parse_hyperfine(text: str) -> Output:
    """Parse the wall time of each run of each command, and the peak memory if there is only one command.

    Raises:
        CaseError: It is not complete JSON, or a run of a command failed.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    results = found.get("results") if isinstance(found, dict) else None
    if not results:
        refuse(TOOL, "contains no result", text, NEXT_STEP)
    series = []
    for result in results:
        # A run terminated by a signal has no exit code.
        if any(code != 0 for code in result.get("exit_codes") or ()):
            refuse(TOOL, f"reports that {result.get('command')!r} failed in one of its runs", text, "fix the command")
        series.append(durations_ns(result.get("times") or [result.get("mean")], NS_PER_S, TOOL, text))
    if len(results) > 1:
        return Output(series_ns=dict(zip(_names(results), series, strict=True)))
    return Output(samples_ns=series[0], peak_bytes=peak_bytes(max(results[0].get("memory_usage_byte") or [0])))


def _names(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each result by its command; add the parameters, or else a number, to equal names."""
    names = [str(result.get("command")) for result in results]
    count = Counter(names)
    scans = [", ".join(f"{key}={value}" for key, value in (each.get("parameters") or {}).items()) for each in results]
    return distinct(
        f"{name} ({scan})" if count[name] > 1 and scan else name for name, scan in zip(names, scans, strict=True)
    )
