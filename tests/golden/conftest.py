"""Golden files: texts stored as files, so that a change of wording shows as a difference.

`DEVPERF_GOLDEN=write pytest tests/golden` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def golden():
    def check(path: str, text: str) -> None:
        file = ROOT / path
        if os.environ.get("DEVPERF_GOLDEN") == "write":
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), f"{path}: DEVPERF_GOLDEN=write writes it anew"

    return check
