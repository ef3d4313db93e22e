"""Everything that a case can end as, and how each outcome is shown.

An outcome is a verdict, the outcome of a test without one, or one of those that no record has: `missing` (a case of the
baseline was not measured), `pending` (the session ended before the case's last process start), `measured` (there was
nothing to compare with). `inconclusive` without a comparison is a case that was too slow to be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Tone = Literal["bad", "warn", "good"]
"""Meaning of a colour: the run fails, look at it, it improved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One thing that a case can end as, and how it is shown."""

    kind: str
    """Its name in records and counts."""
    word: str
    """What people read; in capitals for all but a plain pass."""
    group: str
    """Title of the part of a report that its cases belong to (`groups.py`)."""
    tone: Tone | None = None
    sign: str = ""
    """Stands before the word in Markdown, which has no colours."""


OUTCOMES: Mapping[str, Outcome] = {
    outcome.kind: outcome
    for outcome in (
        Outcome(kind="regressed", word="REGRESSED", group="Regressions", tone="bad", sign="🔴"),
        Outcome(kind="failed", word="FAILED", group="Failed tests", tone="bad", sign="🔴"),
        Outcome(kind="error", word="ERROR", group="Failed tests", tone="bad", sign="🔴"),
        Outcome(kind="suspect", word="SUSPECT", group="Suspects: slower, but not proven", tone="warn", sign="🟠"),
        Outcome(kind="incomparable", word="INCOMPARABLE", group="Not judged", tone="warn", sign="🟠"),
        Outcome(kind="inconclusive", word="INCONCLUSIVE", group="Not judged", tone="warn", sign="🟠"),
        Outcome(kind="missing", word="MISSING", group="Not judged", tone="bad", sign="🟠"),
        Outcome(kind="new", word="NEW", group="Not judged", tone="warn"),
        Outcome(kind="skipped", word="SKIPPED", group="Not judged", tone="warn"),
        Outcome(kind="pending", word="pending", group="Not judged", tone="warn"),
        Outcome(kind="improved", word="improved", group="Improvements", tone="good", sign="🟢"),
        Outcome(kind="within_noise", word="within noise", group="Unchanged"),
        Outcome(kind="measured", word="measured", group="Measured"),
    )
}
"""Every outcome by its name, what needs attention first."""


def word(kind: str) -> str:
    """Return the word for an outcome.

    >>> word("regressed"), word("within_noise")
    ('REGRESSED', 'within noise')
    """
    return OUTCOMES[kind].word
