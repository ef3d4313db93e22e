"""Pure rooms access no file, process, terminal or wall clock."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_devperf

ROOT = Path(pytest_devperf.__file__).parent

PURE = (
    "untrusted.py",
    "metric.py",
    "stats",
    "errors.py",
    "inputs",
    "case",
    "explain/attribution.py",
    "explain/cause.py",
    "explain/difference.py",
    "explain/nodes.py",
    "explain/profile.py",
    "record",
    "compare",
    "report",
    "tool",
    "measure",
    "session/cases/assemble.py",
    "session/cases/case_state.py",
    "session/explaining/choice.py",
    "session/cases/measurements.py",
    "session/cases/found.py",
    "session/judge.py",
    "session/keep.py",
    "session/modes",
    "session/cases/old_side.py",
    "session/schedule.py",
)

FORBIDDEN_MODULES = frozenset({"subprocess", "socket", "os", "shutil", "tempfile", "pathlib", "threading", "time"})
FORBIDDEN_CALLS = frozenset({"open", "print"})


def _files(words: tuple[str, ...]) -> Iterator[Path]:
    for word in words:
        path = ROOT / word
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def breaches(source: str) -> list[str]:
    """Name every forbidden import and call of a module."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        found += [
            f"line {node.lineno}: imports {name}" for name in names if name.partition(".")[0] in FORBIDDEN_MODULES
        ]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"line {node.lineno}: calls {node.func.id}()")
    return found


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in _files(PURE)])
def test_a_pure_module_reaches_for_nothing_outside(path: Path) -> None:
    assert breaches(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source", ["import os", "from os import path", "def f():\n    import time", "open('x')", "print(1)"]
)
def test_a_breach_is_seen(source: str) -> None:
    assert len(breaches(source)) == 1


def test_every_pure_room_is_there() -> None:
    assert [word for word in PURE if not (ROOT / word).exists()] == []
