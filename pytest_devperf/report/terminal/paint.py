"""Choose which words of a report are coloured; the caller chooses how."""

from __future__ import annotations

from collections.abc import Callable

from pytest_devperf.compare.words import COARSE
from pytest_devperf.report.outcome import OUTCOMES, Tone

__all__ = ["Paint", "Tone", "no_paint", "painted_kind", "painted_word"]

Paint = Callable[[str, Tone], str]
"""Adds the colour of a tone to a text."""

_BY_WORD: dict[str, Tone | None] = {outcome.word: outcome.tone for outcome in OUTCOMES.values()} | {
    "NOISY": "warn",
    "UNTRUSTWORTHY": "warn",
}


def no_paint(text: str, tone: Tone) -> str:  # noqa: ARG001 - part of the protocol
    """Return the text without colour."""
    return text


def painted_word(text: str, paint: Paint) -> str:
    """Colour the word of a verdict or a grade; return other text unchanged."""
    tone = "warn" if text.endswith(COARSE[1:]) else _BY_WORD.get(text)
    return text if tone is None else paint(text, tone)


def painted_kind(text: str, kind: str, paint: Paint) -> str:
    """Colour a text by the outcome of a case."""
    tone = OUTCOMES[kind].tone
    return text if tone is None else paint(text, tone)
