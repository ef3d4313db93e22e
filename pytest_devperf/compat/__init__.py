"""The `benchmark` fixture of pytest-benchmark, measured by this package: `-p pytest_devperf.compat`.

A suite that was written for pytest-benchmark runs unchanged, whether pytest-benchmark is installed or not; if it is, it
is switched off. docs/from-pytest-benchmark.md explains what each of its options means here.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.compat.options import (
    FIXTURE,
    MARKER_KEYWORDS,
    OPTIONS,
    add_options,
    check_marker,
    idle_words,
)
from pytest_devperf.compat.others import (
    add_hooks,
    end_requirement,
    meet_requirement,
    named,
    refuse_named,
    replace_module,
    switch_off,
)
from pytest_devperf.plugin.calls import METERS, benchmark_of, closed_at_end
from pytest_devperf.plugin.marks import MARKER, takes_fixture

if TYPE_CHECKING:
    from pytest_devperf.compat.fixture import BenchmarkFixture

__all__ = ["MARKER_KEYWORDS", "OPTIONS", "benchmark", "benchmark_weave"]

SWITCHED_OFF: pytest.StashKey[Sequence[str]] = pytest.StashKey()
"""Names of the plugins whose place this one takes."""

MARKERS: pytest.StashKey[list[pytest.Mark]] = pytest.StashKey()
"""The `benchmark` markers of the tests of this session."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Switch other `benchmark` fixtures off, and accept pytest-benchmark's options."""
    config = pluginmanager.get_plugin("pytestconfig")
    assert isinstance(config, pytest.Config)
    off, loaded = switch_off(pluginmanager)
    if "pytest-benchmark" not in loaded and not named(pluginmanager, config.invocation_params.args):
        add_options(parser)
    replace_module()
    meet_requirement(pluginmanager, sys.modules[__name__])
    config.stash[SWITCHED_OFF] = off


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register pytest-benchmark's marker and hooks, and refuse to work beside its fixture."""
    refuse_named(config)
    end_requirement(config.pluginmanager)
    add_hooks(config.pluginmanager)
    config.addinivalue_line("markers", f"{FIXTURE}(group, ...): settings of a test that uses the benchmark fixture")


def pytest_report_header(config: pytest.Config) -> str:
    """Show which plugin provides the fixture."""
    off = config.stash[SWITCHED_OFF]
    beside = f"; {' and '.join(off)} switched off" if off else ""
    return f"devperf: pytest-devperf provides the benchmark fixture{beside}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, object, object]:
    """Make cases of the tests that use the fixture, before anything looks for cases; skip as pytest-benchmark does."""
    only, skip = config.getoption("benchmark_only"), config.getoption("benchmark_skip")
    for item in items:
        names: list[str] = getattr(item, "fixturenames", [])
        if FIXTURE not in names:
            if only:
                item.add_marker(pytest.mark.skip(reason="no benchmark (--benchmark-only)"))
            continue
        if MARKER not in names:
            names.append(MARKER)
        if skip and not only:
            item.add_marker(pytest.mark.skip(reason="a benchmark (--benchmark-skip)"))
    return (yield)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember the markers of the tests that are left."""
    found = (item.get_closest_marker(FIXTURE) for item in session.items)
    session.config.stash[MARKERS] = [marker for marker in found if marker is not None]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse what pytest-benchmark refuses in its marker."""
    marker = item.get_closest_marker(FIXTURE)
    if marker is not None:
        check_marker(marker)


@pytest.fixture
def benchmark(request: pytest.FixtureRequest) -> Generator[BenchmarkFixture, None, None]:
    """Measure a call as pytest-benchmark's fixture of this name does; without `--devperf` it is made once."""
    from pytest_devperf.compat.fixture import BenchmarkFixture
    from pytest_devperf.compat.timing import Timing

    if METERS in request.config.stash and not takes_fixture(request.node):
        pytest.fail(
            "benchmark cannot be requested with request.getfixturevalue if it is measured: "
            "add it to the test's arguments, so that the case is known before it runs",
            pytrace=False,
        )
    timing = benchmark_of(request, Timing)
    fixture = BenchmarkFixture(request.node, timing)
    with closed_at_end(timing, request):
        yield fixture
        timing.describe(fixture.group, fixture.extra_info)


@pytest.fixture
def benchmark_weave(benchmark: BenchmarkFixture) -> Any:  # noqa: ANN401 - a method that refuses
    """Refuse to replace functions, as `benchmark.weave` does."""
    return benchmark.weave


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:  # noqa: ANN401 - pytest's own
    """Name what pytest-benchmark would have heeded, and a measuring session does not."""
    if METERS in config.stash:
        markers: list[pytest.Mark] = config.stash.get(MARKERS, [])
        words = idle_words(config, markers)
        if words:
            terminalreporter.write_line(words)
