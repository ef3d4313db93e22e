"""Quick and full suites: full cases are left out of a quick session unless they are asked for."""

from __future__ import annotations

import re

import pytest

from pytest_devperf.plugin.marker import FULL, is_case
from pytest_devperf.plugin.selection import location_of, named_by

LEFT_OUT: pytest.StashKey[bool] = pytest.StashKey()
"""Marks an item that our own suite left out."""


class Suites:
    """Leaves full cases out of a session that wants the quick suite."""

    def __init__(self, suite: str) -> None:
        self._suite = suite

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect full cases under `--devperf-suite=quick`, but for those that the command line names."""
        if self._suite == "full" or re.search(rf"\b{FULL}\b", config.option.markexpr or ""):
            return
        full = [item for item in items if is_case(item) and item.get_closest_marker(FULL) is not None]
        named = [each for each in named_by(config) if each.names] if full else []
        left_out = [item for item in full if not any(each.holds(location_of(item)) for each in named)]
        if not left_out:
            return
        for item in left_out:
            item.stash[LEFT_OUT] = True
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left_out)
