"""What the documentation takes from code is up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_every_generated_page_and_block_is_up_to_date() -> None:
    generated = runpy.run_path(str(DOCS / "reference.py"))["generated"]()
    stale = [path.name for path, text in generated.items() if not path.exists() or path.read_text("utf-8") != text]
    assert stale == [], "run python docs/reference.py"
