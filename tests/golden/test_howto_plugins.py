"""The how-to for plugin authors shows the files that are run as tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

SHOWN = re.compile(r"<!-- (examples/\S+) -->\n(?:```\w+\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def _show(match: re.Match[str]) -> str:
    path = ROOT / match[1]
    language = {".py": "python", ".toml": "toml"}[path.suffix]
    return f"<!-- {match[1]} -->\n```{language}\n{path.read_text(encoding='utf-8')}```\n"


def test_the_howto_shows_the_examples_as_they_are(golden):
    path = "docs/howto-plugins.md"
    golden(path, SHOWN.sub(_show, (ROOT / path).read_text(encoding="utf-8")))


def test_the_howto_shows_every_file_of_the_examples():
    shown = {match[1] for match in SHOWN.finditer((ROOT / "docs/howto-plugins.md").read_text(encoding="utf-8"))}
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "examples" / "plugins").rglob("*")
        if path.suffix in {".py", ".toml"} and path.name != "__init__.py"
    }
    assert shown == files
