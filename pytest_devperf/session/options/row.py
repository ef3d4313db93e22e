"""One option: its names, its help, and how its value is parsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

EVERYDAY = "devperf"

ADVANCED = "devperf (advanced)"

Kind = Literal["flag", "tristate", "text", "many", "optional"]
"""`optional`: its value may be left out."""

FLAGS = frozenset({"flag", "tristate"})
"""Kinds of options that take no value on the command line, and true or false in the ini file."""

NEEDS: dict[str | None, str] = {
    "LABEL": "a label",
    "LABEL|FILE": "a label or a file",
    "FILE": "a file",
    "PATH|URL": "a folder or a URL",
    "REV|PYTHON": "a revision or an interpreter",
    "N": "a number",
    "SECONDS": "a number of seconds",
    "X%": "a percentage",
}
"""Descriptions of an option's value, by its metavar."""


class Row(NamedTuple):
    """One option: its name, the parser of its text, and its meaning."""

    name: str
    """Spelling after the `devperf` prefix; empty for `--devperf` itself."""
    help: str
    parse: Callable[[str], Any] = str
    kind: Kind = "text"
    metavar: str | None = None
    everyday: bool = False

    @property
    def flag(self) -> str:
        """Its spelling on the command line."""
        return f"--{self.key.replace('_', '-')}"

    @property
    def key(self) -> str:
        """Ini key, and attribute of pytest's parsed options."""
        return f"devperf_{self.name}" if self.name else "devperf"

    @property
    def needs(self) -> str:
        """Description of the missing value in an error message."""
        return "true or false" if self.kind in FLAGS else NEEDS.get(self.metavar, "a value")
