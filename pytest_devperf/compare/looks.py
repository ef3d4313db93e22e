"""Numbers of looks at a case and of process starts in each."""

from __future__ import annotations

from dataclasses import dataclass

SAVED_STARTS = 12
"""Process starts of a saved run, with one round each: the largest error is a lucky baseline, and the difference between
starts is estimated from their number."""

FIRST_STARTS = 6
"""Process starts of the first look at a case that is compared."""

CONFIRMING_STARTS, CONFIRMING_ROUNDS = 6, 2
"""Process starts of a second look, and rounds of each."""

MORE_STARTS, MORE_ROUNDS = 6, 1
"""Process starts per further look at a suspect that a second look has found again."""

MOST_STARTS = 24
"""Most process starts of a suspect after its first look. If starts differ by 3 %, +5 % is detected in two of three
cases without the last eighteen, and in five of six with them."""

SAVED_AT_A_TIME = 6
"""Further process starts per step of a saved run that needs more than twelve."""

MOST_SAVED = 24
"""Most process starts of a saved run: if starts differ by 3 %, +3 % is detected in 46 % of the cases with twenty-four,
and in 30 % with twelve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """The next measurement of a case."""

    starts: int
    """Number of process starts."""
    rounds: int
    """Rounds of each start."""
