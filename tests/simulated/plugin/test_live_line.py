"""On a terminal one line shows what is measured or waited for, and how warm the phone is."""

from __future__ import annotations

import re
import sys
from typing import Any

from screen import run_on_terminal

Session = Any
"""The fixtures' own class; conftest files are not imported."""


def test_temperature_is_shown_while_measuring_and_while_cooling(tool: Session) -> None:
    arguments = [*tool.arguments("--devperf-cooldown=10"), "-p", "no:cacheprovider"]
    seen = run_on_terminal([sys.executable, "-m", "pytest", *arguments], columns=160)

    assert seen.code == 0, seen.text
    shown = [row for frame in seen.frames for row in frame if row.startswith("devperf: ")]
    cooling = re.compile(r"devperf: cooling down: \d+\.\d °C, .*waited \d+ s, at most \d+ s left")
    measuring = re.compile(r"devperf: measuring: test_tool\.py::test_tool, \d+\.\d °C")
    assert any(map(cooling.match, shown))
    assert any(map(measuring.match, shown))
    over = re.compile(r"cooling down: .*(, cool|most 0 s left)")
    assert not [row for row in shown if over.search(row)], "a wait is shown that is over"
    assert not [row for row in seen.rows if cooling.match(row) or measuring.match(row)]
