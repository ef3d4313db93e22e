"""Every option, marker keyword and hook of pytest-benchmark is known."""

from __future__ import annotations

import argparse
import ast
import inspect
from typing import Any

import pytest_benchmark.hookspec
import pytest_benchmark.plugin

from pytest_devperf.compat import hookspec
from pytest_devperf.compat.options import MARKER_KEYWORDS, OPTIONS


class _Group:
    def __init__(self) -> None:
        self.parser = argparse.ArgumentParser()

    def getgroup(self, *_: str) -> _Group:
        return self

    def addoption(self, *flags: str, **settings: Any) -> None:
        self.parser.add_argument(*flags, **settings)

    def options(self) -> dict[str, argparse.Action]:
        return {action.option_strings[0]: action for action in self.parser._actions if action.dest != "help"}


def _theirs() -> dict[str, argparse.Action]:
    group = _Group()
    pytest_benchmark.plugin.pytest_addoption(group)
    return group.options()


def test_every_option_is_read_with_as_many_values_under_the_same_name() -> None:
    ours = _Group()
    for option in OPTIONS:
        ours.addoption(option.flag, **option.settings)
    theirs = _theirs()
    assert sorted(ours.options()) == sorted(theirs)
    for flag, action in ours.options().items():
        assert (action.nargs, action.dest) == (theirs[flag].nargs, theirs[flag].dest), flag


def test_every_marker_keyword_is_known() -> None:
    source = ast.parse(inspect.getsource(pytest_benchmark.plugin.pytest_runtest_setup))
    names = next(node for node in ast.walk(source) if isinstance(node, ast.Tuple))
    assert sorted(MARKER_KEYWORDS) == sorted(ast.literal_eval(names))


def _hooks(module: Any) -> dict[str, list[str]]:
    found = inspect.getmembers(module, inspect.isfunction)
    return {name: list(inspect.signature(each).parameters) for name, each in found if name.startswith("pytest_")}


def test_every_hook_may_be_implemented_with_the_same_arguments() -> None:
    assert _hooks(hookspec) == _hooks(pytest_benchmark.hookspec)
