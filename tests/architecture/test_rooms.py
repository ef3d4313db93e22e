"""No room is crowded, and import-linter detects import cycles, including those of type annotations."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = ROOT / "pyproject.toml"

MOST_MODULES = 13
"""Modules of a room: more are not found by their names alone, and belong in rooms of their own."""

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"

FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pytest_devperf.case import {0}\n"
WHEN_CALLED = "def f():\n    from pytest_devperf.case import {0}\n"
AT_ONCE = "from pytest_devperf.case import {0}\n"


def _lint(folder: Path, first: str, second: str) -> str:
    """Check a package of two modules by the contract, without the circles that it still allows."""
    room = folder / "pytest_devperf" / "case"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").touch()
    (room / "__init__.py").touch()
    (room / "first.py").write_text(first.format("second"), encoding="utf-8")
    (room / "second.py").write_text(second.format("first"), encoding="utf-8")
    config = PYPROJECT.read_text(encoding="utf-8")
    config = re.sub(r"^ignore_imports = \[.*?^\]", "", config, flags=re.MULTILINE | re.DOTALL)
    (folder / "pyproject.toml").write_text(config, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", LINT, "--contract", "no-circles", "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("back", [AT_ONCE, WHEN_CALLED, FOR_TYPES], ids=["at once", "when called", "for types"])
def test_a_circle_within_a_room_breaks_the_contract(tmp_path: Path, back: str) -> None:
    assert "0 kept, 1 broken" in _lint(tmp_path, AT_ONCE, back)


def test_one_way_keeps_the_contract(tmp_path: Path) -> None:
    assert "1 kept, 0 broken" in _lint(tmp_path, AT_ONCE, "")


def test_no_room_is_crowded() -> None:
    modules = Counter(each.parent for each in (ROOT / "pytest_devperf").rglob("*.py") if each.name != "__init__.py")
    assert modules
    assert {str(room.relative_to(ROOT)): count for room, count in modules.items() if count > MOST_MODULES} == {}
