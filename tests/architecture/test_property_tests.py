"""Property tests pass on a busy machine, too."""

from __future__ import annotations

import re
from pathlib import Path

import hypothesis

TESTS = Path(__file__).parents[1]

DEADLINE = re.compile(r"\bdeadline=(?!None\b)")


def test_no_property_test_has_a_deadline() -> None:
    others = [path for path in TESTS.rglob("*.py") if path != Path(__file__)]
    named = [path.name for path in others if DEADLINE.search(path.read_text(encoding="utf-8"))]

    assert hypothesis.settings().deadline is None
    assert named == []
