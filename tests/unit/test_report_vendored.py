"""What is bundled from elsewhere is what was published there."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest_devperf

VENDORED = Path(pytest_devperf.__file__).parent / "report" / "html" / "vendor"


def test_bundled_files_are_those_that_were_published() -> None:
    listed = dict(
        re.findall(r"\| `(\S+)` \| `([0-9a-f]{64})` \|", (VENDORED / "README.md").read_text(encoding="utf-8"))
    )
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDORED.iterdir()
        if path.name != "README.md"
    }

    assert found == listed
