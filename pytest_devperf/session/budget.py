"""The time that a whole session may take (`--devperf-budget`), and what is left out once it is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from pytest_devperf.english import counted
from pytest_devperf.metric import NS_PER_S

if TYPE_CHECKING:
    from pytest_devperf.session.cases.case_state import CaseState
    from pytest_devperf.session.options.settings import Settings
    from pytest_devperf.targets.protocol import Clock

RESERVED = 0.3
"""Part of a comparison's budget that is kept for suspects and blind cases: their further looks decide verdicts, while
the last starts of the first look only narrow them."""


def budget_of(settings: Settings) -> Budget:
    """Return the budget of a session: only suspects and blind cases of a comparison need a part of it kept."""
    confirms = settings.compare is not None and not settings.no_confirm
    return Budget(seconds=settings.budget, reserved=RESERVED if confirms else 0.0)


@dataclass(kw_only=True)
class Budget:
    """Ends a session's process starts when its time is spent.

    Start 1 of each case always runs, since its test does. Cases share the rest evenly, one process start of every case
    after the other. A start that is expected to end too late is not begun: it is expected to take as long as the last.
    """

    seconds: float | None
    """None: no limit."""
    reserved: float = RESERVED
    """Part that the first looks may not use."""
    _began_ns: int = 0
    _batch_began_ns: int = 0
    _last_ns: dict[bool, int] = field(default_factory=dict)
    """How long the last batch took, of first looks and of further ones."""
    _short: set[int] = field(default_factory=set)
    _unconfirmed: set[int] = field(default_factory=set)

    def begin(self, clock: Clock) -> None:
        """Begin to count the time."""
        self._began_ns = clock.now_ns()

    def has_time(self, states: Sequence[CaseState], clock: Clock) -> bool:
        """Return whether another process start of these cases fits, and begin to time it."""
        if self.seconds is None:
            return True
        again = states[0].look is not None
        limit_s = self.seconds if again else self.seconds * (1 - self.reserved)
        now_ns = self._batch_began_ns = clock.now_ns()
        if now_ns + self._last_ns.get(again, 0) - self._began_ns <= limit_s * NS_PER_S:
            return True
        (self._unconfirmed if again else self._short).update(state.index for state in states)
        return False

    def left_s(self, clock: Clock) -> float:
        """Return how much time is left for what follows the verdicts."""
        return inf if self.seconds is None else self.seconds - (clock.now_ns() - self._began_ns) / NS_PER_S

    def note(self, states: Sequence[CaseState], clock: Clock) -> None:
        """Note how long a process start of these cases took."""
        if self.seconds is not None:
            again = states[0].look is not None
            self._last_ns[again] = max(self._last_ns.get(again, 0), clock.now_ns() - self._batch_began_ns)

    def describe(self) -> str | None:
        """Describe what was left out; None if nothing was."""
        parts = []
        if self._short:
            parts.append(f"{counted(len(self._short), 'case')} had fewer process starts than planned")
        if self._unconfirmed:
            parts.append(f"{counted(len(self._unconfirmed), 'suspect or blind case')} could not be measured again")
        if not parts:
            return None
        return f"the budget of {self.seconds:g} s (--devperf-budget) was spent: {', and '.join(parts)}"
