"""The example suite passes as an ordinary test run, and has the size it states."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "example_suite", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_case_passes_once_unmeasured() -> None:
    ran = run("-q")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


@pytest.mark.parametrize(("suite", "least"), [("quick", 7), ("full", 9)])
def test_there_are_enough_cases(suite: str, least: int) -> None:
    collected = run("--collect-only", "-q", "-m", f"devperf_{suite}").stdout

    assert collected.count("::test_") >= least, collected


def test_enough_quick_cases_are_models_alone_which_a_phone_runs() -> None:
    quick = [
        function.name
        for path in (ROOT / "example_suite").glob("test_*.py")
        for function in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(function, ast.FunctionDef)
        and "devperf.model(" in ast.unparse(function)
        and not any("devperf_full" in ast.unparse(mark) for mark in function.decorator_list)
    ]

    assert len(quick) >= 7, quick
