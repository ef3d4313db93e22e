"""Type checkers accept what plugin authors write, and find their mistakes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WRITTEN = ("tests/typing/use.py", "tests/typing/mistakes.py", "examples/plugins")


def _check(*argv: str) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
def test_mypy_sees_what_is_right_and_what_is_wrong() -> None:
    _check("mypy", *WRITTEN)


@pytest.mark.slow
def test_pyright_sees_what_is_right_and_what_is_wrong() -> None:
    pytest.importorskip("basedpyright", reason="basedpyright is not installed")
    # Without it, pyright would ask the `python` on the path what is installed.
    _check("basedpyright", "--pythonpath", sys.executable)
