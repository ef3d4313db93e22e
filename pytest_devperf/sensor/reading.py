"""What became of one question to a device: a value, not known, or faked."""

from __future__ import annotations

import re
from typing import Literal

State = Literal["value", "unknown", "faked"]
"""`value`: it can be believed. `unknown`: it could not be read. `faked`: somebody overrides the sensor."""

REFUSALS = re.compile(
    r"can't find service|permission denial|permission denied|not found|no such file|inaccessible"
    r"|security ?exception|does not exist|dump_timeout|service dump timeout|failed transaction|can't open",
    re.IGNORECASE,
)
"""Sentences in which a shell or a service says no, whatever return code comes with them."""

KEPT_CHARACTERS = 160
"""How much of an unreadable answer is kept: its first sentence."""


def lines_of(text: str) -> list[str]:
    """Split an answer into lines without trailing blanks; a terminal may have made CR LF or CR CR LF of each end."""
    return [line.rstrip() for line in text.split("\n")]


def raw_words(text: str) -> str:
    """Keep the beginning of an answer that could not be read, in one line."""
    words = " ".join(text.split())
    return words[:KEPT_CHARACTERS] or "no answer"


def refusal(text: str) -> str | None:
    r"""Find the sentence in which an answer is refused; None where its first line is none.

    >>> refusal("Can't find service: thermalservice\n")
    "Can't find service: thermalservice"
    """
    first = next((line for line in lines_of(text) if line), "")
    if not first:
        return "no answer"
    return raw_words(first) if REFUSALS.search(first) else None
