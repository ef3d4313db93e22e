"""The locations of tests, and those that a session may collect."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of installed packages. A file outside rootdir is identified by its path below such a folder, wherever the
environment is."""


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a test, or of an argument on the command line."""

    path: str
    """File or folder, relative to rootdir, with slashes."""
    names: str = ""
    """Names below the file, `TestSort::test_it[3]`; empty for a whole file or folder."""

    def holds(self, other: Location) -> bool:
        """Return whether another location is the same or within this one.

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
    """Return whether names are those of a test, or of a class or function that contains it.

    >>> _is_below("test_sort[a]", "test_sort"), _is_below("test_sort_big", "test_sort")
    (True, False)
    """
    if "[" in above:
        return names == above
    chain, wanted = names.partition("[")[0].split("::"), above.split("::")
    return chain[: len(wanted)] == wanted


def relative_path(path: Path, root: Path) -> str:
    """Spell a path so that it is the same in every session and, if possible, on every machine.

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
    """The tests that the command line allows a session to collect."""

    named: tuple[Location, ...] | None
    """Files, folders and tests; None: everything."""
    ignored: tuple[str, ...] = ()
    """Patterns of absolute paths that `--ignore` and `--ignore-glob` leave out."""
    root: Path = Path()

    def holds(self, where: Location | None) -> bool:
        """Check whether a test is in scope; a test at an unknown location is only in a scope of everything."""
        if where is None:
            return self.named is None
        path = os.path.normpath(self.root / where.path)
        if any(fnmatch(path, pattern) for pattern in self.ignored):
            return False
        return self.named is None or any(each.holds(where) for each in self.named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The tests that a session collected, and those that the user excluded."""

    ids: frozenset[str] = frozenset()
    """Ids of the cases that were collected, deselected ones included."""
    scope: Scope = Scope(None)
    deselected: int = 0
    """Number of cases that the user deselected."""
    only_failed: bool = False
    """Whether `--lf` skips whole files, which pytest reports to no plugin."""

    @property
    def narrowed(self) -> bool:
        """Whether the user excluded cases, apart from those outside the given paths."""
        return self.deselected > 0 or self.only_failed

    def holds(self, case_id: str) -> bool:
        """Return whether a case was collected; for a case of an app, its test."""
        return self.only_failed or case_id in self.ids or any(case_id.startswith(f"{host}[") for host in self.ids)
