"""One result of an examination."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Grade = Literal["bad", "poor", "note", "good", "unknown"]
"""`bad`: runs are refused or blind. `poor`: smaller changes are missed. `note`: measuring copes with it."""

WORST_FIRST: Sequence[Grade] = ("bad", "poor", "note", "good", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was examined, and what was found."""

    check: str
    """Name of what was examined, in one or two words."""
    grade: Grade
    found: str
    """The reading in words."""
    costs: str = ""
    """What it costs a measurement; empty if nothing."""
    remedy: str = ""
    """The command or the action that changes it; empty if there is none."""


def good(check: str, found: str) -> Finding:
    """Report that something makes no measurement worse."""
    return Finding(check=check, grade="good", found=found)


def unknown(check: str) -> Finding:
    """Report that something could not be read."""
    return Finding(check=check, grade="unknown", found="not known here")


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings, the worst first; equal grades keep their order."""
    return sorted(findings, key=lambda each: WORST_FIRST.index(each.grade))


def worst(findings: Iterable[Finding], count: int) -> list[Finding]:
    """Return at most this many of the findings that make measurements worse, the worst first."""
    return [each for each in ordered(findings) if each.grade in {"bad", "poor"}][:count]
