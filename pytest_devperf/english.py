"""Format counts with their nouns."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str) -> str:
    """Format a count with its noun.

    >>> counted(1, "process start"), counted(2, "case"), counted(0, "round")
    ('1 process start', '2 cases', '0 rounds')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def counted_range(counts: Iterable[int], noun: str) -> str:
    """Format a range of counts with their noun.

    >>> counted_range([1, 1], "round"), counted_range([6, 1, 3], "round")
    ('1 round', '1 to 6 rounds')
    """
    least, *_, most = sorted((*counts, *counts))
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"
