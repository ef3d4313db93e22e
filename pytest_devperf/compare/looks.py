"""How much is measured before a verdict: looks at a case, and process starts of each."""

from __future__ import annotations

from dataclasses import dataclass

SAVED_STARTS = 12
"""Process starts of a run that is saved, one round each: a lucky baseline is the largest error there is, and what
starts differ by is learnt from their number."""

FIRST_STARTS = 6
"""Process starts of the first look at a case that is compared."""

CONFIRMING_STARTS, CONFIRMING_ROUNDS = 6, 2
"""Process starts of a second look and rounds of each."""

MORE_STARTS, MORE_ROUNDS = 6, 1
"""Process starts that a suspect takes at a time once a second look has found it again."""

MOST_STARTS = 24
"""Process starts of a suspect beside its first look. Where starts differ by 3 %, +5 % is found in two of three cases
without the last eighteen, and in five of six with them."""

SAVED_AT_A_TIME = 6
"""Starts that a saved run takes at a time where twelve do not settle it."""

MOST_SAVED = 24
"""Process starts of a saved run at most: where starts differ by 3 %, +3 % is found in 46 % of the cases with
twenty-four and in 30 % with twelve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """What to measure next of a case."""

    starts: int
    """Process starts."""
    rounds: int
    """Of each start."""
