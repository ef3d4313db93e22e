"""Attribute growth to its cause: what a function costs because its caller is called more often is its caller's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pytest_devperf.explain.profile import EXACT, Profile

MOST_STEPS = 100
"""Callers up to which growth is passed on; recursion would pass it on forever."""

Parents = Mapping[str, Sequence[tuple[str, float]]]
"""For each function the callers that its growth is passed on to, each with its part; what is left stays."""


def attribute(deltas: Mapping[str, float], parents: Parents) -> dict[str, float]:
    """Pass growth on to the functions that caused it; the sum stays the same.

    >>> attribute({"leaf": 3.0, "helper": 1.0, "main": 0.0}, {"leaf": [("helper", 1.0)]})
    {'leaf': 0.0, 'helper': 4.0, 'main': 0.0}
    """
    found = dict.fromkeys(deltas, 0.0)
    flow = dict(deltas)
    for _ in range(MOST_STEPS):
        following: dict[str, float] = defaultdict(float)
        for name, amount in flow.items():
            passed_on = parents.get(name, ())
            found[name] += amount * (1.0 - sum(part for _, part in passed_on))
            for caller, part in passed_on:
                following[caller] += amount * part
        flow = following
        if not flow:
            return found
    for name, amount in flow.items():
        found[name] += amount
    return found


def parents_of(old: Profile, new: Profile) -> Parents:
    """Find the callers that are the cause of a function's growth.

    A call is caused by its caller as far as that makes as many of them, each time it is called, as it did before.
    """
    before, now = _counts(old), _counts(new)
    then, since = _edges(old), _edges(new)
    callers: dict[str, set[str]] = defaultdict(set)
    for caller, callee in (*then, *since):
        callers[callee].add(caller)
    found: dict[str, Sequence[tuple[str, float]]] = {}
    for name, calling in callers.items():
        calls = before.get(name, 0.0), now.get(name, 0.0)
        if calls[0] is None or calls[1] is None or abs(calls[1] - calls[0]) <= EXACT:
            continue
        growth = calls[1] - calls[0]
        parts = []
        for caller in sorted(calling - {name}):
            made = then.get((caller, name), 0.0), since.get((caller, name), 0.0)
            part = _caused(made, (before.get(caller, 0.0), now.get(caller, 0.0))) / growth
            if part > EXACT:
                parts.append((caller, part))
        whole = sum(part for _, part in parts)
        found[name] = [(caller, part / max(1.0, whole)) for caller, part in parts]
    return found


def _caused(made: tuple[float, float], calls: tuple[float | None, float | None]) -> float:
    """Count the further calls that a caller makes only because it is called more often itself."""
    then, since = calls
    if then is None or since is None:
        return 0.0
    if not then:
        return made[1]  # a new function: all that it calls is its doing
    if not since:
        return -made[0]
    expected = made[0] * since / then
    return expected - made[0]


def _counts(profile: Profile) -> dict[str, float | None]:
    return {row.name: row.calls for row in profile.rows}


def _edges(profile: Profile) -> dict[tuple[str, str], float]:
    return {(profile.rows[edge.caller].name, profile.rows[edge.callee].name): edge.calls for edge in profile.edges}
