"""Import the modules of a checkout from another tree of the same repository.

This file is copied into an environment of its own, where a `.pth` file imports it first in every process.
It imports only the standard library.

A module that would come from the checkout comes from the same place in the tree, however it is found: by a folder on
`sys.path`, by a `.pth` file or by the finder of an editable install. Modules of the tests stay those of the checkout,
and so do modules that git ignores: they were generated, or belong to an environment inside the checkout.
"""

from __future__ import annotations

import json
import os
import pkgutil
import site
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    BuiltinImporter,
    ExtensionFileLoader,
    FileFinder,
    FrozenImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import ModuleType
from typing import Any

LOADERS: Sequence[tuple[Any, list[str]]] = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)
"""As Python's own finder of files has them."""

STANDARD = (BuiltinImporter, FrozenImporter, PathFinder)

OURS = frozenset({"pytest_devperf", "_devperf_redirect"})
"""Packages that measure: both sides have today's."""

TESTS = frozenset({"test", "tests"})
"""Folders of tests, wherever they are."""

BENCHMARKS = frozenset({"bench", "benchmark", "benchmarks", "perf", "performance"})
"""Folders of tests, unless they are in a package: then they may be part of it."""

EVERY_FILE = frozenset({"*", "*.py"})
"""Values of `python_files` that do not distinguish tests from other modules."""


class Redirection:
    """Where the modules of a checkout come from."""

    def __init__(self, instructions: dict[str, Any]) -> None:
        """Take the content of `_devperf_redirect.json`."""
        self.top: str = instructions["top"]
        self.tree: str = instructions["tree"]
        self._ignored = frozenset(instructions["ignored"])
        self._apart = tuple(instructions["apart"])
        self._tests = frozenset(instructions["tests"])
        self._patterns = tuple(pattern for pattern in instructions["python_files"] if pattern not in EVERY_FILE)
        self.built = frozenset(instructions["built"])

    def place(self, path: str) -> str | None:
        """Return where a path is in the checkout or the tree, relative to its top; None if in neither."""
        real = os.path.realpath(path)
        for top in (self.tree, self.top):
            if real == top:
                return ""
            if real.startswith(top + os.sep):
                place = real[len(top) + 1 :].replace(os.sep, "/")
                return None if top == self.top and self._is_apart(real, place) else place
        return None

    def _is_apart(self, real: str, place: str) -> bool:
        """Return whether a path is in an environment inside the checkout, or git ignores its folder."""
        return any(real == each or real.startswith(each + os.sep) for each in self._apart) or self.is_ignored(place)

    def is_ignored(self, place: str) -> bool:
        """Return whether git ignores a place."""
        parts = place.split("/")
        return any("/".join(parts[:count]) in self._ignored for count in range(1, len(parts) + 1))

    def is_of_tests(self, place: str) -> bool:
        """Return whether a file of the checkout is a test, or lies among tests."""
        *folders, name = place.split("/")
        if (
            place in self._tests
            or name == "conftest.py"
            or any(self._matches(place, name, pattern) for pattern in self._patterns)
        ):
            return True
        for count, folder in enumerate(folders):
            if folder in TESTS or (folder in BENCHMARKS and not self._is_package(folders[:count])):
                return True
        return False

    @staticmethod
    def _matches(place: str, name: str, pattern: str) -> bool:
        return fnmatch("/" + place, "*/" + pattern) if "/" in pattern else fnmatch(name, pattern)

    def _is_package(self, folders: Sequence[str]) -> bool:
        return os.path.exists(os.path.join(self.top, *folders, "__init__.py"))

    def hook(self, entry: str) -> TreeFinder:
        """Find the modules of a folder of the checkout or the tree: an entry of `sys.path_hooks`."""
        place = self.place(entry or os.getcwd())
        if place is None or not any(os.path.isdir(os.path.join(top, place)) for top in (self.top, self.tree)):
            raise ImportError("no folder of the checkout", path=entry)
        return TreeFinder(self, place)


class TreeFinder:
    """Finds the modules of one folder."""

    def __init__(self, redirection: Redirection, place: str) -> None:
        self._redirection = redirection
        self._place = place
        self._today = FileFinder(os.path.join(redirection.top, *place.split("/")), *LOADERS)
        self._tree = FileFinder(os.path.join(redirection.tree, *place.split("/")), *LOADERS)

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a module, as `importlib` asks for it."""
        package = name.partition(".")[0]
        if package in self._redirection.built and package not in OURS:
            return None  # it was built: all of it is in another folder
        today, old = (finder.find_spec(name, target) for finder in (self._today, self._tree))
        if today is not None and (package in OURS or self._stays(today)):
            return today
        if old is None and today is not None and today.loader is None:
            return today  # a folder without code of its own: what is in it is asked for one by one
        return old

    def _stays(self, spec: ModuleSpec) -> bool:
        """Return whether a module of the checkout is used on both sides."""
        if spec.has_location and spec.origin:
            paths = [spec.origin]
        else:
            paths = [os.path.join(folder, "_") for folder in spec.submodule_search_locations or ()]
        top = self._redirection.top + os.sep
        places = [
            path[len(top) :].replace(os.sep, "/") for path in map(os.path.realpath, paths) if path.startswith(top)
        ]
        is_generated = self._redirection.is_ignored
        return bool(places) and all(self._redirection.is_of_tests(each) or is_generated(each) for each in places)

    def invalidate_caches(self) -> None:
        """Forget what the folders hold."""
        self._today.invalidate_caches()
        self._tree.invalidate_caches()

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """List the modules of the folder, as `pkgutil` asks for them."""
        tests = self._redirection.is_of_tests(f"{self._place}/_")
        finder = self._today if tests else self._tree
        yield from pkgutil.iter_importer_modules(finder, prefix)  # type: ignore[attr-defined]  # typeshed lacks it


class Redirected(MetaPathFinder):
    """A finder of an editable install, whose modules are looked for in the tree."""

    def __init__(self, redirection: Redirection, finder: Any) -> None:
        self._redirection = redirection
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        """Return whatever else the finder offers, such as its distributions."""
        return getattr(self._finder, name)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module, as `importlib` asks for it."""
        if name.partition(".")[0] in self._redirection.built:
            return None
        spec: ModuleSpec | None = self._finder.find_spec(name, path, target)
        if spec is None or not spec.has_location or spec.origin is None:
            return spec
        folder = os.path.dirname(spec.origin)
        if spec.submodule_search_locations is not None:
            folder = os.path.dirname(folder)
        place = self._redirection.place(folder)
        return spec if place is None else TreeFinder(self._redirection, place).find_spec(name, target)


def install(instructions: dict[str, Any]) -> None:
    """Share the packages of another environment, and redirect the modules of its checkout."""
    sys.path.extend(instructions["first"])
    for folder in instructions["sites"]:
        site.addsitedir(folder)
    redirection = Redirection(instructions)
    sys.path_hooks.insert(0, redirection.hook)
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [each if each in STANDARD else Redirected(redirection, each) for each in sys.meta_path]


if __name__ == "_devperf_redirect":
    with open(os.path.splitext(__file__)[0] + ".json", encoding="ascii") as _file:
        install(json.load(_file))
