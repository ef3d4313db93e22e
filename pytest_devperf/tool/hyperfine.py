"""hyperfine's `--export-json`."""

from __future__ import annotations

from pytest_devperf.tool.output import Output
from pytest_devperf.tool.reading import NS_PER_S, durations_ns, guarded, json_in, refuse

TOOL = "hyperfine"

NEXT_STEP = "call it with --export-json=FILE and read the file (/dev/stdout with --style=none)"


@guarded(TOOL, NEXT_STEP)
def parse_hyperfine(text: str) -> Output:
    """Read the wall time of each run of each command, and the peak memory where there is one command.

    Raises:
        CaseError: There is no whole JSON, or a run of a command failed.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    results = found.get("results") if isinstance(found, dict) else None
    if not results:
        refuse(TOOL, "holds no result", text, NEXT_STEP)
    series: dict[str, tuple[float, ...]] = {}
    for result in results:
        command = str(result.get("command"))
        # A run ended by a signal has no exit code.
        if any(code != 0 for code in result.get("exit_codes") or ()):
            refuse(TOOL, f"says that {command!r} failed in one of its runs", text, "mend the command")
        series[command] = durations_ns(result.get("times") or [result.get("mean")], NS_PER_S, TOOL, text)
    if len(results) > 1:
        return Output(series_ns=series)
    peaks = [size for size in results[0].get("memory_usage_byte") or () if size]
    return Output(samples_ns=series[str(results[0].get("command"))], peak_bytes=max(peaks) if peaks else None)
