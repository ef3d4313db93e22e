"""Source and pages use the words of the field: code reports, shows or returns; it does not tell, say or wish."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_devperf

PACKAGE = Path(pytest_devperf.__file__).parent
ROOT = PACKAGE.parent

INSTEAD = {
    "report, show or return": re.compile(r"(?<![a-z])(tell|tells|told|say|says|said)(?![a-z])", re.IGNORECASE),
    "request or option": re.compile(r"(?<![a-z])wish(es|ed)?(?![a-z])", re.IGNORECASE),
    "if": re.compile(r"\b(None|True|False|empty|only) where\b|\bwhere (there|nothing|none|nobody|it does|it is not)\b"),
}
"""What to write -> what it is written for."""

ALLOWED = {
    "inputs/language.py",  # a list of frequent words
    "session/launch/follow.py",  # the method `tell` of a file
}


def other_words(text: str) -> Iterator[str]:
    """Yield every line in which another word is used, also as part of a name."""
    for number, line in enumerate(text.splitlines(), start=1):
        for word, pattern in INSTEAD.items():
            found = pattern.search(line.replace("_", " "))
            if found is not None:
                yield f"line {number}: {found[0]!r}, write {word}"


def test_source_uses_the_words_of_the_field():
    sources = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {
        name: lines
        for name, path in sources.items()
        if name not in ALLOWED and (lines := list(other_words(path.read_text(encoding="utf-8"))))
    }

    assert len(sources) > len(ALLOWED)
    assert found == {}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_a_page_uses_the_words_of_the_field(page):
    assert list(other_words(page.read_text(encoding="utf-8"))) == []


def test_names_of_tests_use_the_words_of_the_field():
    named = re.compile(r"def (test_\w+)")
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for name in named.findall(path.read_text(encoding="utf-8"))
        if list(other_words(name))
    ]

    assert found == []


@pytest.mark.parametrize(
    "text",
    ["Tell what is known", "x = told", "wishes = []", "None where there is none", "it says so", "host_told"],
)
def test_other_words_are_found(text):
    assert list(other_words(text))


@pytest.mark.parametrize("text", ["essay", "the folder where it runs", "Return the rest", "retold"])
def test_ordinary_words_are_allowed(text):
    assert list(other_words(text)) == []
