"""The markers of cases, and the tests that are cases.

This module is imported in every session in which the plugin is installed, so it imports nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

MARKER = "devperf"
FULL = "devperf_full"
QUICK = "devperf_quick"
HERE = frozenset({"auto", "host"})
"""Targets that stay on this machine in a session that measures nothing."""

MARKERS = frozenset({MARKER, FULL, QUICK})


def is_case(item: pytest.Item) -> bool:
    """Return whether a test is a case: it uses the fixture, or has one of the markers."""
    return _is_case(item, {})


def cases_of(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Select the cases; properties of a file or a class are determined once for all its tests."""
    marked: dict[pytest.Collector, bool] = {}
    return (item for item in items if _is_case(item, marked))


def _is_case(item: pytest.Item, marked: dict[pytest.Collector, bool]) -> bool:
    if MARKER in getattr(item, "fixturenames", ()):
        return True
    if item.own_markers and any(mark.name in MARKERS for mark in item.own_markers):
        return True
    above = item.parent
    if above is None:
        return False
    if above not in marked:
        marked[above] = any(mark.name in MARKERS for mark in above.iter_markers())
    return marked[above]


def target_elsewhere(item: pytest.Item) -> str | None:
    """Return the target of a case's marker, if it is another one than this machine."""
    named = next((mark.kwargs["target"] for mark in item.iter_markers(MARKER) if "target" in mark.kwargs), None)
    return named if isinstance(named, str) and named not in HERE else None


def takes_fixture(item: pytest.Item) -> bool:
    """Return whether the test's arguments or its fixtures use `devperf`."""
    return MARKER in getattr(item, "fixturenames", ())


def add_markers(item: pytest.Item) -> None:
    """Add markers to a case, so that `-m devperf`, `-m devperf_full` and `-k` select it."""
    if item.get_closest_marker(MARKER) is None:
        item.add_marker(MARKER)
    full = item.get_closest_marker(FULL) is not None
    if not full and item.get_closest_marker(QUICK) is None:
        item.add_marker(FULL if _suite(item) == "full" else QUICK)


def _suite(item: pytest.Item) -> str:
    for mark in item.iter_markers(MARKER):
        if "suite" in mark.kwargs:
            return str(mark.kwargs["suite"])
    return "quick"
