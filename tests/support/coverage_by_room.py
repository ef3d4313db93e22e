"""Print the coverage of every room and fail if one is below its minimum.

Reads the JSON report of coverage.py: `coverage json -o coverage.json && python coverage_by_room.py coverage.json`.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path

PACKAGE = "pytest_devperf"

COUNTED = ("num_statements", "num_branches", "covered_lines", "covered_branches")

LEAST_PCT = {
    "case": 94,
    "compare": 98,
    "english": 100,
    "errors": 100,
    "inputs": 100,
    "measure": 99,
    "metric": 96,
    "record": 99,
    "report": 92,
    "sensor": 87,
    "stats": 98,
    "store": 97,
    "tool": 97,
    "untrusted": 100,
}
"""Percent of lines and branches that the tests of a room must run: what `tests/unit` and `tests/golden` alone ran, when
this was measured. Other tests only add to it. A room that is not named has no least.
"""


def count_by_room(report: dict) -> dict[str, Counter[str]]:
    """Sum the lines and branches of each room; a top-level module is a room by itself."""
    rooms: dict[str, Counter[str]] = {}
    for name, found in report["files"].items():
        room = Path(name).relative_to(PACKAGE).parts[0].removesuffix(".py")
        rooms.setdefault(room, Counter()).update({key: found["summary"][key] for key in COUNTED})
    return rooms


def percent(counts: Counter[str]) -> float:
    """Return the share of covered lines and branches, as coverage.py computes it."""
    total = counts["num_statements"] + counts["num_branches"]
    return 100 * (counts["covered_lines"] + counts["covered_branches"]) / total if total else 100.0


def main(path: str) -> int:
    """Print a table; return 1 if a room is below its least."""
    below = 0
    for room, counts in sorted(count_by_room(json.loads(Path(path).read_text(encoding="utf-8"))).items()):
        pct, least_pct = percent(counts), LEAST_PCT.get(room, 0)
        fell = math.floor(pct) < least_pct
        below += fell
        sys.stdout.write(f"{room:12} {pct:6.1f} %{f'  fell below {least_pct} %' if fell else ''}\n")
    return min(below, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
