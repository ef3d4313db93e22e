"""The pytest plugin: hooks, options, markers and the fixture.

This module is imported in every session in which the plugin is installed, so it only imports what every session needs;
the code that measures is imported when a session measures.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.plugin.marks import FULL, MARKER, QUICK, add_markers, cases_of, is_case, takes_fixture
from pytest_devperf.plugin.options import (
    add_options,
    check_typed_values,
    check_values,
    idle_words,
    read_ini,
    wants_measuring,
)
from pytest_devperf.session.launch import origin
from pytest_devperf.session.options.table import COMPAT, OUTPUTS

if TYPE_CHECKING:
    from pytest_devperf.plugin.fixture import Benchmark
    from pytest_devperf.targets.protocol import Target

MARKERS = (
    f"{MARKER}(id, suite, tolerance, memory, target, sweep, rounds, iterations, ...): measure this test; "
    "without the devperf fixture, the whole test function is the workload",
    f"{QUICK}: a case of the quick suite",
    f"{FULL}: a case of the full suite, left out under --devperf-suite=quick",
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add our hooks for other plugins."""
    from pytest_devperf.plugin import hookspec

    pluginmanager.add_hookspecs(hookspec)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register options and ini keys."""
    add_options(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Do what must precede other plugins' implementations of this hook: they act on options, and begin to capture."""
    if origin.HANDOVER is not None:
        from pytest_devperf.plugin.worker import begin

        begin(early_config, origin.HANDOVER)
    elif _writes_to_stdout(early_config):
        from pytest_devperf.plugin.configure import reserve_output

        reserve_output(early_config)
    if early_config.getini(COMPAT.key) is not None:
        from pytest_devperf.plugin.calls import usage_errors

        with usage_errors():
            if read_ini(early_config, COMPAT):
                early_config.pluginmanager.import_plugin("pytest_devperf.compat")
    return (yield)


def _writes_to_stdout(early_config: pytest.Config) -> bool:
    """Return whether this session writes the run document or a report to standard output."""
    option = early_config.known_args_namespace
    named = (getattr(option, row.key) or early_config.getini(row.key) for row in OUTPUTS)
    return "-" in named and wants_measuring(early_config, option)


def pytest_configure(config: pytest.Config) -> None:
    """Register markers; if this session measures, register the hooks for it."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    if origin.HANDOVER is None:
        from pytest_devperf.plugin.calls import usage_errors

        with usage_errors():
            _configure(config)


def _configure(config: pytest.Config) -> None:
    if wants_measuring(config):
        from pytest_devperf.plugin.configure import configure

        check_values(config)
        configure(config)
        return
    check_typed_values(config)
    words = idle_words(config)
    if words:
        from pytest_devperf.plugin.options import Idle

        config.pluginmanager.register(Idle(words), "devperf-idle")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark cases before `-m` and `-k` select; one loop, since a hook per item costs more than its work."""
    for item in cases_of(items):
        add_markers(item)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine case that no asyncio plugin has claimed in a new event loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj) or not is_case(pyfuncitem):
        return None
    from pytest_devperf.plugin.calls import call_coroutine

    call_coroutine(pyfuncitem)
    return True


@pytest.hookimpl(trylast=True)
def pytest_devperf_make_target(config: pytest.Config, spec: str) -> Target | None:
    """Return the targets that are part of the plugin."""
    from pytest_devperf.plugin.calls import answer_target

    return answer_target(config, spec)


@pytest.fixture
def devperf(request: pytest.FixtureRequest) -> Generator[Benchmark, None, None]:
    """Measure calls, loads, models and commands; without `--devperf` each runs once."""
    if not takes_fixture(request.node):
        pytest.fail(
            "devperf cannot be requested with request.getfixturevalue: add it to the test's arguments, "
            "so that the case is known before it runs",
            pytrace=False,
        )
    if getattr(getattr(request.node, "obj", None), "is_hypothesis_test", False):
        pytest.fail(
            "hypothesis calls this test repeatedly with other inputs, and each is another workload: "
            "measure fixed inputs in a test without @given",
            pytrace=False,
        )
    from pytest_devperf.plugin.calls import benchmark_of, closed_at_end
    from pytest_devperf.plugin.fixture import Benchmark

    benchmark = benchmark_of(request, Benchmark)
    with closed_at_end(benchmark, request):
        yield benchmark
