"""From a collected test and its markers to a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.plugin.chosen import Options
from pytest_devperf.plugin.marker import FULL, MARKER
from pytest_devperf.plugin.options import PLAN_ROWS, SESSION_FIELDS
from pytest_devperf.plugin.parse import parse_tolerance
from pytest_devperf.plugin.selection import id_of, location_of

OWN_KEYWORDS = frozenset({"id", "suite", "tolerance", "memory", "target", "sweep"})
"""Marker keywords that are no field of the plan."""

SUITES = ("quick", "full")
"""Suites a marker may name."""

SAVING_PROCESSES = 6
"""Process starts of a run that is saved: a lucky baseline is the largest error left."""


def merged_keywords(item: pytest.Item) -> dict[str, Any]:
    """Merge the keywords of all `devperf` markers, the nearest first."""
    merged: dict[str, Any] = {}
    for mark in item.iter_markers(MARKER):
        if mark.args:
            raise pytest.UsageError(
                f"{item.nodeid}: @pytest.mark.devperf takes keyword arguments only, not {mark.args[0]!r}"
            )
        for key, value in mark.kwargs.items():
            merged.setdefault(key, value)
    return merged


def case_of(item: pytest.Item, options: Options, seed: int) -> Case:
    """Make the case of a test.

    Raises:
        pytest.UsageError: A marker's keyword is unknown or its value cannot be used; the test is named.
    """
    keywords = merged_keywords(item)
    plan_keywords = _plan_keywords(item, keywords)
    _check_suite(item, keywords)
    plan = plan_of(options, plan_keywords, seed)
    sweep = _text(item, keywords, "sweep")
    if sweep is not None and "processes" not in {**options.plan_ini, **plan_keywords, **options.plan_cli}:
        # As in a saved run: which configuration is best is asked of the process starts.
        plan = replace(plan, processes=min(SAVING_PROCESSES, plan.rounds))
    _text(item, keywords, "id")
    where = location_of(item)
    return Case(
        id=id_of(item, keywords),
        path=where.path,
        test=where.names,
        suite="full" if item.get_closest_marker(FULL) is not None else "quick",
        plan=plan,
        named=frozenset(options.plan_cli),
        tolerance=_tolerance(item, keywords.get("tolerance")),
        sweep=f"{where.path}::{where.names.partition('[')[0]} ({sweep})" if sweep is not None else None,
        memory=_switch(item, keywords, "memory"),
        target=_text(item, keywords, "target"),
    )


def plan_of(options: Options, marker: Mapping[str, Any], seed: int) -> Plan:
    """Merge command line, marker, ini file and defaults into a plan, the strongest first."""
    fields: dict[str, Any] = {"seed": seed, **options.plan_ini, **marker, **options.plan_cli}
    if "processes" not in fields:
        fields["processes"] = SAVING_PROCESSES if options.save else Plan().processes
    plan = Plan(**fields)
    # A start without a round would say nothing; more starts than rounds are only refused where they were named.
    return replace(plan, processes=min(plan.processes, plan.rounds), suite=fields.get("suite", "quick"))


def _plan_keywords(item: pytest.Item, keywords: Mapping[str, Any]) -> dict[str, Any]:
    rows = {row.name: row for row in PLAN_ROWS if row.name not in SESSION_FIELDS and row.name != "suite"}
    found: dict[str, Any] = {}
    for key, value in keywords.items():
        if key in OWN_KEYWORDS:
            continue
        if key not in rows:
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.devperf has no keyword {key!r}: {_near(key, rows)}")
        try:
            found[key] = rows[key].parse(str(value))
        except ValueError as error:
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.devperf({key}={value!r}): {error}") from None
    if found.get("processes", 0) > found.get("rounds", 10**9):
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.devperf(processes={found['processes']}, rounds={found['rounds']}): "
            "every process start needs at least one round"
        )
    return found


def _near(key: str, rows: Iterable[str]) -> str:
    """Suggest what was probably meant, or list all keywords."""
    if key in SESSION_FIELDS:
        return f"it applies to a whole session, so use --devperf-{key.replace('_', '-')} or the ini key devperf_{key}"
    from difflib import get_close_matches

    known = sorted({*rows, *OWN_KEYWORDS})
    near = get_close_matches(key, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"


def _check_suite(item: pytest.Item, keywords: Mapping[str, Any]) -> None:
    suite = _text(item, keywords, "suite")
    if suite is not None and suite not in SUITES:
        raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.devperf(suite={suite!r}): must be {' or '.join(SUITES)}")


def _text(item: pytest.Item, keywords: Mapping[str, Any], key: str) -> str | None:
    value = keywords.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.devperf({key}={value!r}): must be a text that is not empty"
        )
    return value


def _switch(item: pytest.Item, keywords: Mapping[str, Any], key: str) -> bool:
    value = keywords.get(key, False)
    if not isinstance(value, bool):
        raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.devperf({key}={value!r}): must be True or False")
    return value


def _tolerance(item: pytest.Item, given: object) -> dict[str, float]:
    """Read `"40%"` or `{"load": "40%"}`."""
    if given is None:
        return {}
    pairs = given.items() if isinstance(given, Mapping) else [("*", given)]
    tolerance: dict[str, float] = {}
    for metric, text in pairs:
        try:
            named, fraction = parse_tolerance(str(text))
        except ValueError as error:
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.devperf(tolerance={given!r}): {error}") from None
        tolerance[named if metric == "*" else str(metric)] = fraction
    return tolerance
