"""Where tests are, and which of them the command line names."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of installed packages. A file outside rootdir is known by its path below such a folder, wherever the
environment lies."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a test is, or what a word of the command line names."""

    path: str
    """File or folder, relative to rootdir, with slashes."""
    names: str = ""
    """Names below the file, `TestSort::test_it[3]`; empty for a whole file or folder."""

    def holds(self, other: Location) -> bool:
        """Tell whether another location is this one or lies in it.

        >>> Location("t").holds(Location("t/test_a.py", "test_sort")), Location("t").holds(Location("t2/test_a.py"))
        (True, False)
        """
        mine, others = PurePosixPath(self.path).parts, PurePosixPath(other.path).parts
        if self.names:
            return mine == others and _is_below(other.names, self.names)
        return self.is_everything or others[: len(mine)] == mine

    @property
    def is_everything(self) -> bool:
        """Whether it is rootdir, or a folder above it."""
        return not self.names and all(part == os.pardir for part in PurePosixPath(self.path).parts)


def _is_below(names: str, above: str) -> bool:
    """Tell whether names are those of a test, or of a class or function that it belongs to.

    >>> _is_below("test_sort[a]", "test_sort"), _is_below("test_sort_big", "test_sort")
    (True, False)
    """
    if "[" in above:
        return names == above
    chain, wanted = names.partition("[")[0].split("::"), above.split("::")
    return chain[: len(wanted)] == wanted


def location_of(item: pytest.Item) -> Location:
    """Find out where a test is."""
    file = next((node for node in item.iter_parents() if isinstance(node, pytest.File)), None)
    above = file.nodeid if file is not None else item.nodeid.partition("::")[0]
    names = item.nodeid.removeprefix(above).removeprefix("::")
    return Location(relative_path(item.path, item.config.rootpath), names)


def id_of(item: pytest.Item, keywords: Mapping[str, Any]) -> str:
    """Name a case: by its marker's `id=`, or by its node id.

    Outside rootdir the node id depends on the arguments of the command line and need not hold the file, so that two
    tests may share one; there the file's own path takes its place.
    """
    given = keywords.get("id")
    if given is not None:
        return str(given)
    if item.path.is_relative_to(item.config.rootpath):
        return item.nodeid
    where = location_of(item)
    return f"{where.path}::{where.names}"


def relative_path(path: Path, root: Path) -> str:
    """Spell a path so that it is the same in every session and, as far as can be, on every machine.

    >>> relative_path(Path("/work/tests/test_a.py"), Path("/work"))
    'tests/test_a.py'
    >>> relative_path(Path("/venv/lib/python3.13/site-packages/shop/tests"), Path("/work"))
    'shop/tests'
    """
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    folder = next((each for each in path.parents if each.name in INSTALLED), None)
    if folder is not None:
        return path.relative_to(folder).as_posix()
    try:
        return Path(os.path.relpath(path, root)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


@dataclass(frozen=True, slots=True)
class Scope:
    """What the command line lets a session collect."""

    named: tuple[Location, ...] | None
    """Files, folders and tests; None: everything."""
    ignored: tuple[str, ...] = ()
    """Patterns of absolute paths that `--ignore` and `--ignore-glob` leave out."""
    root: Path = Path()

    def holds(self, where: Location | None) -> bool:
        """Tell whether a test is in it; where a test is not known to be, only a session that takes everything is."""
        if where is None:
            return self.named is None
        path = os.path.normpath(self.root / where.path)
        if any(fnmatch(path, pattern) for pattern in self.ignored):
            return False
        return self.named is None or any(each.holds(where) for each in self.named)


def scope_of(config: pytest.Config) -> Scope:
    """Find out what the command line narrows the session to."""
    named = named_by(config)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS or any(each.is_everything for each in named):
        return Scope(None, _ignored(config), config.rootpath)
    return Scope(named, _ignored(config), config.rootpath)


def named_by(config: pytest.Config) -> tuple[Location, ...]:
    """Read the arguments of the command line: files, folders, tests, and with `--pyargs` modules."""
    return tuple(_parse_argument(config, os.fspath(arg)) for arg in config.args)


def _parse_argument(config: pytest.Config, arg: str) -> Location:
    head, _, names = arg.partition("::")
    file = (_find_module(head) if config.option.pyargs else None) or head
    path = Path(os.path.abspath(config.invocation_params.dir / file))  # noqa: PTH100 - pytest follows no links either
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
    """List what `--ignore` and `--ignore-glob` leave out, as patterns."""
    folder = config.invocation_params.dir
    paths = [os.path.normpath(folder / each) for each in config.getoption("ignore") or ()]
    globs = [os.path.normpath(folder / each) for each in config.getoption("ignore_glob") or ()]
    exact = [escape(path) for path in paths]
    return (*exact, *(os.path.join(path, "*") for path in exact), *globs)  # noqa: PTH118 - patterns, not paths
