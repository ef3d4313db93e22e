"""Read the keywords of a test's marker into its case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Suite
from pytest_devperf.errors import UsageError
from pytest_devperf.session.options.parse import parse_tolerance
from pytest_devperf.session.options.scope import Location
from pytest_devperf.session.options.settings import SAVING_PROCESSES, Settings, plan_of
from pytest_devperf.session.options.table import PLAN_ROWS, SESSION_FIELDS

OWN_KEYWORDS = {
    "id": "name of the case in saved runs, which survives renaming of the test (default: the node id)",
    "suite": "`quick` or `full`: a full case is left out unless `--devperf-suite=full` (default: quick)",
    "tolerance": 'smallest relative change that counts: `"40%"`, or by metric, `{"load": "40%"}`',
    "memory": "`True`: measure the memory of plain calls too (default: False)",
    "target": "the target that the case is pinned to",
    "sweep": "group of configurations to rank against each other",
}
"""Marker keywords that are not fields of the plan, and what each means."""

SUITES = ("quick", "full")
"""Valid suites of a marker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedTest:
    """The parts of a test that make a case."""

    nodeid: str
    case_id: str
    where: Location
    suite: Suite
    keywords: Mapping[str, Any]
    """Keywords of all its markers, the nearest first."""


def make_case(test: MarkedTest, settings: Settings, seed: int) -> Case:
    """Make the case of a test.

    Raises:
        UsageError: A marker's keyword is unknown or its value is invalid; the message names the test.
    """
    keywords = test.keywords
    plan_keywords = _plan_keywords(test)
    _check_suite(test)
    plan = plan_of(settings, plan_keywords, seed)
    sweep = _text(test, "sweep")
    if sweep is not None and "processes" not in {**settings.plan_named, **plan_keywords}:
        # As in a saved run: the process starts show which configuration is best.
        plan = replace(plan, processes=min(SAVING_PROCESSES, plan.rounds))
    _text(test, "id")
    where = test.where
    return Case(
        id=test.case_id,
        path=where.path,
        test=where.names,
        suite=test.suite,
        plan=plan,
        named=frozenset(settings.plan_cli),
        tolerance=_tolerance(test, keywords.get("tolerance")),
        sweep=f"{where.path}::{where.names.partition('[')[0]} ({sweep})" if sweep is not None else None,
        memory=_switch(test, "memory"),
        target=_text(test, "target"),
    )


def _plan_keywords(test: MarkedTest) -> dict[str, Any]:
    rows = {row.name: row for row in PLAN_ROWS if row.name not in SESSION_FIELDS and row.name != "suite"}
    found: dict[str, Any] = {}
    for key, value in test.keywords.items():
        if key in OWN_KEYWORDS:
            continue
        if key not in rows:
            raise UsageError(f"{test.nodeid}: @pytest.mark.devperf has no keyword {key!r}: {_near(key, rows)}")
        try:
            found[key] = rows[key].parse(str(value))
        except ValueError as error:
            raise UsageError(f"{test.nodeid}: @pytest.mark.devperf({key}={value!r}): {error}") from None
    if found.get("count") == "only":
        raise UsageError(
            f"{test.nodeid}: @pytest.mark.devperf(count='only'): a whole session measures no time "
            "(--devperf-count=only); count=True counts instructions of a test as well"
        )
    if found.get("processes", 0) > found.get("rounds", 10**9):
        raise UsageError(
            f"{test.nodeid}: @pytest.mark.devperf(processes={found['processes']}, rounds={found['rounds']}): "
            "every process start needs at least one round"
        )
    return found


def _near(key: str, rows: Iterable[str]) -> str:
    """Suggest the most similar keyword, or list all."""
    if key in SESSION_FIELDS:
        return f"it applies to a whole session, so use --devperf-{key.replace('_', '-')} or the ini key devperf_{key}"
    from difflib import get_close_matches

    known = sorted({*rows, *OWN_KEYWORDS})
    near = get_close_matches(key, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"


def _check_suite(test: MarkedTest) -> None:
    suite = _text(test, "suite")
    if suite is not None and suite not in SUITES:
        raise UsageError(f"{test.nodeid}: @pytest.mark.devperf(suite={suite!r}): must be {' or '.join(SUITES)}")


def _text(test: MarkedTest, key: str) -> str | None:
    value = test.keywords.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{test.nodeid}: @pytest.mark.devperf({key}={value!r}): must be a non-empty text")
    return value


def _switch(test: MarkedTest, key: str) -> bool:
    value = test.keywords.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{test.nodeid}: @pytest.mark.devperf({key}={value!r}): must be True or False")
    return value


def _tolerance(test: MarkedTest, given: object) -> dict[str, float]:
    """Parse `"40%"` or `{"load": "40%"}`."""
    if given is None:
        return {}
    pairs = given.items() if isinstance(given, Mapping) else [("*", given)]
    tolerance: dict[str, float] = {}
    for metric, text in pairs:
        try:
            named, fraction = parse_tolerance(str(text))
        except ValueError as error:
            raise UsageError(f"{test.nodeid}: @pytest.mark.devperf(tolerance={given!r}): {error}") from None
        tolerance[named if metric == "*" else str(metric)] = fraction
    return tolerance
