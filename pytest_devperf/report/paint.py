"""Choose which words of a report are coloured; the caller chooses how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pytest_devperf.compare.words import BLIND
from pytest_devperf.report.row import word

Tone = Literal["bad", "warn", "good"]
"""Meaning of a colour: the run fails, look at it, it improved."""

Paint = Callable[[str, Tone], str]
"""Adds the colour of a tone to a text."""

TONES: dict[str, Tone] = {
    "regressed": "bad",
    "failed": "bad",
    "error": "bad",
    "missing": "bad",
    "suspect": "warn",
    "incomparable": "warn",
    "inconclusive": "warn",
    "new": "warn",
    "skipped": "warn",
    "pending": "warn",
    "improved": "good",
}
"""Tones by outcome of a case; `within_noise` and `measured` have none."""

_BY_WORD: dict[str, Tone] = {word(kind): tone for kind, tone in TONES.items()} | {
    "NOISY": "warn",
    "UNTRUSTWORTHY": "warn",
    f"{word('within_noise')} {BLIND}": "warn",
}


def no_paint(text: str, tone: Tone) -> str:  # noqa: ARG001 - part of the protocol
    """Return the text without colour."""
    return text


def painted_word(text: str, paint: Paint) -> str:
    """Colour the word of a verdict or a grade; return other text unchanged."""
    tone = _BY_WORD.get(text)
    return text if tone is None else paint(text, tone)


def painted_kind(text: str, kind: str, paint: Paint) -> str:
    """Colour a text by the outcome of a case."""
    tone = TONES.get(kind)
    return text if tone is None else paint(text, tone)
