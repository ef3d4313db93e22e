"""The state of a reading (known, unknown, faked), and helpers for parsers of phone output."""

from __future__ import annotations

import re
from typing import Literal

State = Literal["value", "unknown", "faked"]
"""`value`: a plausible value. `unknown`: it could not be read. `faked`: somebody overrides the sensor."""

REFUSALS = re.compile(
    r"can't find service|permission denial|permission denied|not found|no such file|inaccessible"
    r"|security ?exception|does not exist|dump_timeout|service dump timeout|failed transaction|can't open",
    re.IGNORECASE,
)
"""Phrases with which a shell or a service refuses a request, whatever the return code."""

KEPT_CHARACTERS = 160
"""Characters kept of an unreadable answer: its first sentence."""


def lines_of(text: str) -> list[str]:
    """Split an answer into lines without trailing blanks; terminals change line ends to CR LF or CR CR LF."""
    return [line.rstrip() for line in text.split("\n")]


def raw_words(text: str) -> str:
    """Return the beginning of an answer that could not be read, as one line."""
    words = " ".join(text.split())
    return words[:KEPT_CHARACTERS] or "no answer"


def refusal(text: str) -> str | None:
    r"""Return the sentence that refuses a request; None if the first line is not a refusal.

    >>> refusal("Can't find service: thermalservice\n")
    "Can't find service: thermalservice"
    """
    first = next((line for line in lines_of(text) if line), "")
    if not first:
        return "no answer"
    return raw_words(first) if REFUSALS.search(first) else None
