"""Annotations of GitHub Actions: lines of a step's output that mark a line of a file."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_devperf.untrusted import excerpt, printable

MOST_ANNOTATIONS = 10
"""Errors of one step that GitHub shows; it drops further ones without a word.

Source: GitHub Docs, "Workflow commands for GitHub Actions", limits of annotations.
"""

MOST_CHARACTERS = 1000
"""Characters of a message: GitHub shows the first lines of it, and links to the log."""

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}

_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
"""What the runner decodes in messages and in properties.

Source: actions/toolkit, packages/core/src/command.ts.
"""

_COMMAND = "::"
"""What a workflow command begins with; the runner ignores spaces before it."""

_OLD_COMMAND = "##["
"""What one in the older syntax begins with, at any place of a line."""

_WORD_JOINER = "\N{WORD JOINER}"
"""A character without width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """An error at a line of a file."""

    title: str
    message: str
    file: str | None = None
    """Path in the repository, with slashes; None: the file is not part of it."""
    line: int = 1


def format_annotation(annotation: Annotation) -> str:
    r"""Format an annotation as a workflow command.

    >>> format_annotation(Annotation(title="SLOW: a", message="12 %\nmore", file="a,b.py", line=3))
    '::error file=a%2Cb.py,line=3,title=SLOW%3A a::12 %25%0Amore'
    """
    where = {"file": annotation.file, "line": str(annotation.line)} if annotation.file is not None else {}
    properties = {**where, "title": printable(annotation.title)}
    named = ",".join(f"{name}={_escape(value, _PROPERTY)}" for name, value in properties.items() if value)
    message = "\n".join(map(printable, excerpt(annotation.message, MOST_CHARACTERS).splitlines()))
    return f"::error {named}::{_escape(message, _DATA)}"


def without_command(line: str) -> str:
    """Return a line that the runner does not take for a command, whatever names it contains.

    >>> without_command("latency of test_a.py::test_b")
    'latency of test_a.py::test_b'
    """
    line = line.replace(_OLD_COMMAND, f"##{_WORD_JOINER}[")
    return f"{_WORD_JOINER}{line}" if line.lstrip().startswith(_COMMAND) else line


def _escape(text: str, spellings: dict[str, str]) -> str:
    return "".join(spellings.get(char, char) for char in text)
