"""Hooks of mkdocs: what the pages contain on the site, but not in the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Insert the changelog, and turn links to files outside `docs/`, which the site does not have, into plain text."""
    if page.file.src_uri == "changelog.md":
        return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", CHANGELOG.read_text(encoding="utf-8"))
    levels = page.file.src_uri.count("/") + 1
    return re.sub(rf"\[([^\]]+)\]\((?:\.\./){{{levels}}}[^)]*\)", r"\1", markdown)
