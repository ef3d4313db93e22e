"""Decisions have unique numbers, and the index contains all of their headings."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"


def test_every_decision_has_its_own_number() -> None:
    numbers = Counter(each.name[:4] for each in FOLDER.glob("[0-9]*.md"))
    assert [number for number, count in numbers.items() if count > 1] == []


def test_the_index_names_every_decision_by_its_heading() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\* \[(\d{4})\]\((\S+)\) (.+)$", index, re.MULTILINE)
    assert [name for _, name, _ in named] == sorted(each.name for each in FOLDER.glob("[0-9]*.md"))
    for number, name, heading in named:
        assert name.startswith(f"{number}-")
        assert (FOLDER / name).read_text(encoding="utf-8").startswith(f"# {heading}\n")
