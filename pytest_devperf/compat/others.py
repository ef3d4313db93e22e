"""The plugins whose place this one takes: their fixture is switched off, their names stay importable."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from pytest_devperf.compat.options import HOOK_PREFIX
from pytest_devperf.errors import UsageError
from pytest_devperf.plugin.calls import usage_errors

OTHERS = {"pytest-benchmark": "benchmark", "pytest-codspeed": "codspeed"}
"""Plugins with a fixture of the same name, and their entry points; `pytest_<entry point>` is their package."""

INTERFACE = "5.3.1"
"""Version of pytest-benchmark whose interface this is."""


def switch_off(manager: pytest.PytestPluginManager) -> tuple[list[str], list[str]]:
    """Keep other plugins from offering their fixture.

    Returns:
        The names of those that are installed, and of those that were loaded already.
    """
    there, loaded = [], []
    for name, entry in OTHERS.items():
        if importlib.util.find_spec(f"pytest_{entry}") is not None:
            there.append(name)
        if manager.get_plugin(entry) is not None:
            loaded.append(name)
            manager.unregister(name=entry)
        manager.set_blocked(entry)
    return there, loaded


def named(manager: pytest.PytestPluginManager, words: Iterable[object]) -> str | None:
    """Return the module of such a plugin that was loaded, or will be, by its name: somebody wants its fixture.

    Args:
        manager: Knows the plugins that were loaded.
        words: The command line.
    """
    modules = (f"pytest_{entry}.plugin" for entry in OTHERS.values())
    typed = " ".join(map(str, words))
    return next((each for each in modules if each in typed or manager.get_plugin(each) is not None), None)


def refuse_named(config: pytest.Config) -> None:
    """Refuse to work beside such a plugin.

    Raises:
        pytest.UsageError: There is one.
    """
    module = named(config.pluginmanager, config.invocation_params.args)
    if module is not None:
        with usage_errors():
            raise UsageError(
                f"{module} is loaded by -p or pytest_plugins beside pytest_devperf.compat",
                "leave one of them out: both would provide the benchmark fixture",
            )


class _Distribution(NamedTuple):
    """What pytest is shown if a suite's ini file requires pytest-benchmark."""

    project_name: str = "pytest-benchmark"
    version: str = INTERFACE


def meet_requirement(manager: pytest.PytestPluginManager, plugin: object) -> None:
    """Count as pytest-benchmark while pytest checks the plugins that an ini file requires.

    There is no hook for that: pytest asks the plugin manager for the distributions of all plugins.
    """
    listed: Callable[[], list[Any]] = manager.list_plugin_distinfo
    manager.list_plugin_distinfo = lambda: [*listed(), (plugin, _Distribution())]  # type: ignore[method-assign]


def end_requirement(manager: pytest.PytestPluginManager) -> None:
    """Leave pytest-benchmark out of the plugins that pytest's header lists."""
    vars(manager).pop("list_plugin_distinfo", None)


def replace_module() -> None:
    """Let suites import the type of the fixture from pytest-benchmark if that is not installed."""
    if "pytest_benchmark" in sys.modules or importlib.util.find_spec("pytest_benchmark") is not None:
        return
    from pytest_devperf.compat.fixture import BenchmarkFixture, FixtureAlreadyUsed

    content = {"BenchmarkFixture": BenchmarkFixture, "FixtureAlreadyUsed": FixtureAlreadyUsed}
    package = sys.modules["pytest_benchmark"] = _module("pytest_benchmark", {})
    for name in ("fixture", "plugin"):
        module = sys.modules[f"pytest_benchmark.{name}"] = _module(f"pytest_benchmark.{name}", content)
        setattr(package, name, module)


def _module(name: str, content: dict[str, Any]) -> ModuleType:
    module = ModuleType(name, "Stands for the module of this name, which is not installed.")
    module.__spec__ = ModuleSpec(name, None, is_package=not content)
    vars(module).update(content)
    return module


def add_hooks(manager: pytest.PytestPluginManager) -> None:
    """Accept implementations of pytest-benchmark's hooks in conftests, unless it was loaded and did so itself."""
    known = getattr(manager.hook, f"{HOOK_PREFIX}update_json", None)
    if known is None or not known.has_spec():
        from pytest_devperf.compat import hookspec

        manager.add_hookspecs(hookspec)
