"""Quick and full suites: full cases are left out of a quick session unless they are asked for."""

from __future__ import annotations

import re

import pytest

from pytest_devperf.plugin.marker import FULL, is_case

LEFT_OUT: pytest.StashKey[bool] = pytest.StashKey()
"""Marks an item that our own suite left out."""


class Suites:
    """Leaves full cases out where only the quick suite is wanted."""

    def __init__(self, suite: str) -> None:
        self._suite = suite

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect full cases under `--devperf-suite=quick`."""
        if self._suite == "full" or re.search(rf"\b{FULL}\b", config.option.markexpr or ""):
            return
        named = [str(arg) for arg in config.args if "::" in str(arg)]
        left_out = [
            item
            for item in items
            if is_case(item) and item.get_closest_marker(FULL) is not None and not _is_named(item, named)
        ]
        if not left_out:
            return
        for item in left_out:
            item.stash[LEFT_OUT] = True
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left_out)


def _is_named(item: pytest.Item, named: list[str]) -> bool:
    """Tell whether the command line names this very test, or the class or function it belongs to."""
    name = item.nodeid.partition("::")[2]
    for arg in named:
        wanted = arg.partition("::")[2]
        same_file = str(item.path).endswith(arg.partition("::")[0].lstrip("./").replace("/", "/"))
        if same_file and (name == wanted or name.startswith((f"{wanted}::", f"{wanted}["))):
            return True
    return False
