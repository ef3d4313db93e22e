"""Every command of README and docs can be parsed: pages name no option, verb or argument that does not exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pytest_devperf.cli.command import VERBS, parser_of
from pytest_devperf.session.options.table import ROWS

ROOT = Path(__file__).parents[2]

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCED = re.compile(r"^ *```(?:sh|yaml)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)

INDENTED = re.compile(r"^ {4}.*$", re.MULTILINE)

COMMAND = re.compile(r"^[ $-]*(?:run: )?(?:\.venv/bin/)?((?:pytest|devperf) .*)$", re.MULTILINE)

SHELL = re.compile(r" +#.*|;|\||&&| \d?>.*")
"""A comment, and what a shell does with a command."""


def commands(page: Path) -> list[list[str]]:
    """Collect the commands of a page as words."""
    text = page.read_text(encoding="utf-8")
    lines = COMMAND.findall("\n".join([*FENCED.findall(text), *INDENTED.findall(FENCED.sub("", text))]))
    parts = [part.strip() for line in lines for part in SHELL.split(line)]
    return [shlex.split(part) for part in parts if re.match(r"pytest |devperf [a-z-]+( |$)", part)]


def unknown(words: list[str]) -> list[str]:
    """Name what a command passes that nothing takes."""
    end = words.index("--") if "--" in words else len(words)
    if words[0] == "pytest":
        flags = {row.flag for row in ROWS}
        return [word for word in words if word.startswith("--devperf") and word.partition("=")[0] not in flags]
    if words[1] not in VERBS:
        return [words[1]]
    return parser_of(words[1]).parse_known_args(words[2:end])[1] + unknown(["pytest", *words[end + 1 :]])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_what_exists(page: Path) -> None:
    assert [(words, unknown(words)) for words in commands(page) if unknown(words)] == []


def test_pages_have_commands() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 60


@pytest.mark.parametrize("command", ["pytest --devperf-comparee=x", "devperf showw x", "devperf show x --verbosee"])
def test_what_does_not_exist_is_found(command: str) -> None:
    assert unknown(command.split())
