"""Runs in which every text from a file contains terminal commands."""

from __future__ import annotations

from typing import Any

import msgspec

from pytest_devperf.record.record import Run
from pytest_devperf.record.rows import plain_rows, read_rows

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\r"
"""Clears the screen, sets a title, colours by an 8-bit code, turns the direction of writing, overwrites a line."""

FIXED = frozenset(
    {"outcome", "better", "kind", "verdict", "quality", "unit", "taken_at", "generation", "stop", "suite"}
)
"""Keys whose values are words of ours, or decide how a value is shown."""


def hostile(run: Run) -> Run:
    """Put escapes into every free text of a run: ids, labels, names of metrics, reasons, facts, the device."""
    return msgspec.convert(_hostile(msgspec.to_builtins(run, enc_hook=plain_rows)), Run, dec_hook=read_rows)


def _hostile(value: Any, key: str = "") -> Any:
    if isinstance(value, str):
        return value if key in FIXED else f"{value}{ESCAPES}"
    if isinstance(value, dict):
        return {name: _hostile(each, name) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hostile(each, key) for each in value]
    return value


def is_harmless(text: str) -> bool:
    """Return whether a text contains only printable characters and line breaks."""
    return all(line.isprintable() for line in text.split("\n"))
