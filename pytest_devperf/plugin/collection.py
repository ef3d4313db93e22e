"""Turn collected tests into cases, and determine which ones the user excluded."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.plugin.marks import FULL, MARKER, is_case
from pytest_devperf.session.options.scope import Collected, Location, Scope, relative_path

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.session.cases.case_state import TestAddress
    from pytest_devperf.session.options.settings import Settings

LEFT_OUT: pytest.StashKey[bool] = pytest.StashKey()
"""Marks an item that our own suite option deselected."""


class CollectionWatch:
    """The hooks that watch a collection; with pytest-xdist, the controller adds the collections of its workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.ids: set[str] | None = None
        """Ids of the cases that were collected, deselected ones included; None until pytest has collected without an
        error."""
        self.deselected = 0
        """Number of cases that the user deselected."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """Record the cases before any is deselected."""
        self.ids = {id_of(item, merged_keywords(item)) for item in items if is_case(item)}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the cases that the user deselected; those of our own suite option do not count."""
        self.deselected += sum(1 for item in items if is_case(item) and not item.stash.get(LEFT_OUT, False))

    def collected(self) -> Collected:
        """Summarise the collection."""
        return Collected(
            ids=frozenset(self.ids or ()),
            scope=scope_of(self._config),
            deselected=self.deselected,
            only_failed=bool(self._config.getoption("lf", default=False)),
        )


class Suites:
    """Deselects full cases in a session for the quick suite."""

    def __init__(self, suite: str) -> None:
        self._suite = suite

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect full cases under `--devperf-suite=quick`, except those named on the command line."""
        left_out = [] if self._suite == "full" else list(_full_and_not_named(config, items))
        if not left_out:
            return
        for item in left_out:
            item.stash[LEFT_OUT] = True
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left_out)


def _full_and_not_named(config: pytest.Config, items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    if re.search(rf"\b{FULL}\b", config.option.markexpr or ""):
        return
    full = [item for item in items if is_case(item) and item.get_closest_marker(FULL) is not None]
    named = [each for each in named_by(config) if each.names] if full else []
    yield from (item for item in full if not any(each.holds(location_of(item)) for each in named))


def only_looks(config: pytest.Config) -> bool:
    """Return whether the session collects tests, or sets fixtures up, and runs none of them."""
    return bool(config.option.collectonly or getattr(config.option, "setuponly", False))


# -- cases ------------------------------------------------------------------------------------------


def cases_of_tests(
    items: Sequence[pytest.Item], settings: Settings, seed: int
) -> list[tuple[pytest.Item, Case, TestAddress]]:
    """Make the cases of tests; an item that a conftest adds twice is one case.

    Raises:
        UsageError: A marker is invalid, or two tests share an id, so that each would be the other's baseline.
    """
    from pytest_devperf.session.cases.case_state import TestAddress

    known: dict[int, tuple[pytest.Item, Case, TestAddress]] = {}
    count: dict[tuple[str, str], int] = {}
    seen: dict[str, pytest.Item] = {}
    for item in items:
        if id(item) in known:
            continue
        case = case_of(item, settings, seed)
        _refuse_twin(seen.setdefault(case.id, item), item, case.id)
        key = (str(item.path), item.nodeid)
        nth = count[key] = count.get(key, -1) + 1
        known[id(item)] = item, case, TestAddress(path=str(item.path), nodeid=item.nodeid, nth=nth)
    return list(known.values())


def case_of(item: pytest.Item, settings: Settings, seed: int) -> Case:
    """Make the case of a test.

    Raises:
        UsageError: A marker's keyword is unknown or its value is invalid; the message names the test.
    """
    from pytest_devperf.session.options.marker import MarkedTest, make_case

    keywords = merged_keywords(item)
    test = MarkedTest(
        nodeid=item.nodeid,
        case_id=id_of(item, keywords),
        where=location_of(item),
        suite="full" if item.get_closest_marker(FULL) is not None else "quick",
        keywords=keywords,
    )
    return make_case(test, settings, seed)


def merged_keywords(item: pytest.Item) -> dict[str, Any]:
    """Merge the keywords of all `devperf` markers, the nearest first."""
    merged: dict[str, Any] = {}
    for mark in item.iter_markers(MARKER):
        if mark.args:
            raise UsageError(f"{item.nodeid}: @pytest.mark.devperf takes keyword arguments only, not {mark.args[0]!r}")
        for key, value in mark.kwargs.items():
            merged.setdefault(key, value)
    return merged


def _refuse_twin(other: pytest.Item, item: pytest.Item, case_id: str) -> None:
    if (other.path, other.nodeid, other.location) != (item.path, item.nodeid, item.location):
        raise UsageError(
            f"{_named(item)} and {_named(other)} are both called {case_id!r}: "
            "give each its own @pytest.mark.devperf(id=...)"
        )


def _named(item: pytest.Item) -> str:
    """Describe a test by its file, line and names: two tests may have the same node id."""
    line = item.location[1]
    return f"{item.path}{'' if line is None else f':{line + 1}'}::{location_of(item).names}"


# -- locations of tests -----------------------------------------------------------------------------


def location_of(item: pytest.Item) -> Location:
    """Return the location of a test."""
    file = next((node for node in item.iter_parents() if isinstance(node, pytest.File)), None)
    above = file.nodeid if file is not None else item.nodeid.partition("::")[0]
    names = item.nodeid.removeprefix(above).removeprefix("::")
    return Location(relative_path(item.path, item.config.rootpath), names)


def id_of(item: pytest.Item, keywords: Mapping[str, Any]) -> str:
    """Return the id of a case: that of its marker, or its node id.

    Outside rootdir, the node id depends on the arguments of the command line and may lack the file, so that two tests
    may share it; there, the path of the file replaces its beginning.
    """
    given = keywords.get("id")
    if given is not None:
        return str(given)
    if item.path.is_relative_to(item.config.rootpath):
        return item.nodeid
    where = location_of(item)
    return f"{where.path}::{where.names}"


def scope_of(config: pytest.Config) -> Scope:
    """Determine to which tests the command line restricts the session."""
    named = named_by(config)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS or any(each.is_everything for each in named):
        return Scope(None, _ignored(config), config.rootpath)
    return Scope(named, _ignored(config), config.rootpath)


def named_by(config: pytest.Config) -> tuple[Location, ...]:
    """Parse the arguments of the command line: files, folders, tests, and modules with `--pyargs`."""
    return tuple(_parse_argument(config, os.fspath(arg)) for arg in config.args)


def _parse_argument(config: pytest.Config, arg: str) -> Location:
    head, _, names = arg.partition("::")
    file = (_find_module(head) if config.option.pyargs else None) or head
    path = Path(os.path.abspath(config.invocation_params.dir / file))  # noqa: PTH100 - pytest does not follow links either
    return Location(relative_path(path, config.rootpath), names)


def _find_module(name: str) -> str | None:
    """Find the file of a module, or the folder of a package."""
    try:
        spec = importlib.util.find_spec(name)
    except (AttributeError, ImportError, ValueError):  # a path, or no module's name
        return None
    if spec is None:
        return None
    folders: Sequence[str] = list(spec.submodule_search_locations or ())
    return folders[0] if folders else spec.origin


def _ignored(config: pytest.Config) -> tuple[str, ...]:
    """Return what `--ignore` and `--ignore-glob` exclude, as patterns."""
    folder = config.invocation_params.dir
    paths = [os.path.normpath(folder / each) for each in config.getoption("ignore") or ()]
    globs = [os.path.normpath(folder / each) for each in config.getoption("ignore_glob") or ()]
    exact = [escape(path) for path in paths]
    return (*exact, *(os.path.join(path, "*") for path in exact), *globs)  # noqa: PTH118 - patterns, not paths
