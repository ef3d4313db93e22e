"""The statistics are those of pytest-benchmark, field by field."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_benchmark.stats import Metadata as TheirMetadata
from pytest_benchmark.stats import Stats as TheirStats

from pytest_devperf.compat.stats import FIELDS, Metadata, Stats

SECONDS = st.floats(min_value=1e-9, max_value=10)


def _theirs(data: list[float]) -> TheirStats:
    stats = TheirStats()
    for value in data:
        stats.update(value)
    return stats


def test_every_field_has_our_name() -> None:
    assert TheirStats.fields == FIELDS


@given(st.lists(SECONDS, min_size=1, max_size=40))
def test_every_field_has_their_value(data: list[float]) -> None:
    ours, theirs = Stats(data).as_dict(), _theirs(data).as_dict()
    for field in FIELDS:
        same = ours[field] == theirs[field]
        assert same or math.isclose(ours[field], theirs[field], rel_tol=1e-9, abs_tol=1e-18), field


def test_what_belongs_to_the_statistics_is_found_as_there() -> None:
    facts = {"group": "g", "name": "n", "fullname": "f", "params": {"a": 1}, "param": "1", "extra_info": {"x": 2}}
    theirs = TheirMetadata(SimpleNamespace(**facts, cprofile_stats=None), iterations=4, options={"disable_gc": True})
    data = [0.25, 0.5, 1.0]
    for value in data:
        theirs.update(value * 4)
    ours = Metadata(data, 4, facts)
    assert ours
    assert not Metadata([], 1, facts)
    for key in (*FIELDS, *facts, "iterations", "options"):
        assert ours[key] == theirs[key], key
        assert ours.get(key) == theirs.get(key), key
    assert ours.get("none", 5) == theirs.get("none", 5) == 5
    assert ours.as_dict() == theirs.as_dict()
    assert ours.as_dict(flat=True, include_data=False) == theirs.as_dict(flat=True, include_data=False)
    assert ours.as_dict(stats=False) == theirs.as_dict(stats=False)
    with pytest.raises(AttributeError):
        ours["none"]
