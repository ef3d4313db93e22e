"""Build replacements of LiteRT's and ExecuTorch's tools with this machine's compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("stand_in_tool.c")

OPTIONS = {"benchmark_model": ("-DBENCHMARK",), "executor_runner": ()}


def build_stand_in(name: str, folder: Path, *options: str) -> Path:
    """Build one; its source documents its options."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C compiler")
    built = folder / name
    subprocess.run([compiler, "-O1", *OPTIONS[name], *options, "-o", str(built), str(SOURCE)], check=True)
    return built
