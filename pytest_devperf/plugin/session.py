"""The hooks of a measuring process, which connect pytest with the session."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_devperf.case.digest import type_name
from pytest_devperf.plugin.calls import run_protocol, tear_down_others, usage_errors
from pytest_devperf.plugin.collection import CollectionWatch, cases_of_tests, only_looks
from pytest_devperf.plugin.marks import is_case
from pytest_devperf.plugin.reports import RanTest, Reports, status_of
from pytest_devperf.plugin.terminal import Screen
from pytest_devperf.report.report import Report
from pytest_devperf.session.devices.cooler import bounds_words
from pytest_devperf.session.devices.describe import describe_devices
from pytest_devperf.session.kept.gate import is_gate
from pytest_devperf.session.launch.interpreter import CommandLine, Terminated
from pytest_devperf.session.modes.repetitions import Repetitions
from pytest_devperf.session.session import Session
from pytest_devperf.session.starts.device import is_phone

if TYPE_CHECKING:
    from pytest_devperf.session.starts.meters.counting import AnyMeter


class Place(Protocol):
    """The destination of a session's results: here, or from a worker of pytest-xdist to its controller."""

    def header(self, session: Session, screen: Screen, *, looks_only: bool) -> list[str]:
        """Describe the devices, their state and the seed."""
        ...

    def close(self, session: Session, watch: CollectionWatch) -> int:
        """End a session, and count the gates that were not met."""
        ...


class Here:
    """Keeps the results of a session in this process."""

    def header(self, session: Session, screen: Screen, *, looks_only: bool) -> list[str]:
        """Describe the devices, their state and the seed."""
        ready = not looks_only and session.settle()
        report = describe_devices(session.targets, session.settings.target, session.plan, ready=ready)
        words = session.resumption.log.header()
        return screen.header(replace(report, messages=(*report.messages, words)) if words is not None else report)

    def close(self, session: Session, watch: CollectionWatch) -> int:
        """End a session, and count the gates that were not met."""
        return session.close(watch.collected())


class MeasuringHooks:
    """The hooks of a process that measures."""

    def __init__(
        self,
        config: pytest.Config,
        session: Session,
        reports: Reports,
        screen: Screen,
        watch: CollectionWatch,
        place: Place,
    ) -> None:
        """Connect a measuring session to pytest's session.

        Args:
            config: pytest's configuration.
            session: The measuring session.
            reports: The tests of its cases.
            screen: Its display.
            watch: The collected tests.
            place: The destination of its results.
        """
        self._config = config
        self._session = session
        self._reports = reports
        self._screen = screen
        self._watch = watch
        self._place = place
        self._meters: dict[int, AnyMeter] = {}

    # -- before anything is measured --------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Prepare the terminal."""
        self._screen.open()

    def pytest_report_header(self) -> list[str]:
        """Describe the devices, their state and the seed."""
        with usage_errors():
            return self._place.header(self._session, self._screen, looks_only=only_looks(self._config))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Add every selected case, and refuse those that cannot be compared, before anything is measured."""
        if only_looks(self._config) or self._watch.ids is None:
            return
        items = [item for item in session.items if is_case(item)]
        with usage_errors():
            if items:
                self._prepare(items)
            elif session.items or not self._watch.collected().narrowed:
                self._session.baselines.read()

    def _prepare(self, items: list[pytest.Item]) -> None:
        measuring = self._session
        tests = cases_of_tests(items, measuring.settings, measuring.plan.seed)
        for index, (item, _, _) in enumerate(tests):
            self._reports.add(index, item)
        measuring.prepare([(case, address) for _, case, address in tests])
        how = measuring.mode.describe_plan(list(measuring.states))
        waits = bounds_words(measuring.plan) if any(map(is_phone, measuring.targets.opened)) else None
        self._screen.plan(measuring.settings, measuring.plan, len(tests), how, waits)

    # -- start 1 ----------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run start 1 of a case; the session reports it at once only if nothing more can change."""
        index = self._reports.index_of(item)
        if index is None:
            return None
        with usage_errors():
            state = self._session.states[index]
            if self._session.restore(state):
                tear_down_others(item, nextitem)
                return True
            meter = self._meters[id(item)] = self._session.begin(state)
            reports, _ = run_protocol(item, nextitem)
            del self._meters[id(item)]
            self._session.end(state, meter, self._reports.take_first(index, reports))
        return True

    def meter(self, item: pytest.Item) -> AnyMeter | None:
        """Return the meter of a running case."""
        return self._meters.get(id(item))

    # -- the other starts, and the end --------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After start 1 of every case: run its other starts, determine its verdict, and save the results."""
        measuring = self._session
        with self._no_early_success(), usage_errors():
            with measuring.unless_broken_off():
                result = yield
                self._reports.apply_maxfail(session)
                measuring.finish()
            if not only_looks(self._config):
                session.testsfailed += self._place.close(measuring, self._watch)
        return result

    @contextmanager
    def _no_early_success(self) -> Iterator[None]:
        """Do not let `pytest.exit(returncode=0)` or a signal end the session as a success before it was closed."""
        try:
            yield
        except Terminated as ended:
            raise pytest.exit.Exception(str(ended), returncode=128 + ended.number) from None
        except pytest.exit.Exception as stop:
            if is_gate(self._session.settings) and self._session.states and stop.returncode == pytest.ExitCode.OK:
                stop.returncode = pytest.ExitCode.TESTS_FAILED
            raise

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write tables, cautions and the last line."""
        measuring, results = self._session, self._session.results
        if not measuring.states and not results.missing:
            self._screen.nothing_measured(terminalreporter, measuring.settings, results.unwritten)
        else:
            self._summarise(terminalreporter, results.report(measuring.states))

    def _summarise(self, terminalreporter: Any, report: Report) -> None:  # noqa: ANN401 - as above
        measuring = self._session
        failed = self._reports.failed
        explained = {state.case.id for state in measuring.states if state.concluded and state.index in failed}
        self._screen.summary(terminalreporter, report, explained)
        if isinstance(measuring.mode, Repetitions):
            self._screen.noise(terminalreporter, measuring.mode.noises(measuring.states))
        self._config.hook.pytest_devperf_report(config=self._config, report=report)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:  # noqa: ANN401 - pytest's own tuple
        """Show a regression with its own status word."""
        return status_of(report)


def send_to_pytest(test: RanTest) -> None:
    """Send the reports of a test to pytest."""
    for report in test.reports:
        test.item.ihook.pytest_runtest_logreport(report=report)


# -- how fresh interpreters are started ---------------------------------------------------------------


def command_line(config: pytest.Config) -> CommandLine:
    """Return how this session was started, so that fresh interpreters can be started in the same way."""
    names = [each if isinstance(each, str) else each.__name__ for each in _plugins(config, (str, ModuleType))]
    return CommandLine(
        args=tuple(os.fspath(arg) for arg in config.invocation_params.args),
        folder=Path(config.invocation_params.dir),
        plugins=tuple(name for name in names if name != "__main__"),
        randomly_seed=getattr(config.option, "randomly_seed", None),
    )


def note_on_plugins(config: pytest.Config) -> str:
    """Name the plugins that a fresh interpreter lacks; empty if it lacks none.

    An object cannot be passed to another interpreter. Those of pytest itself (pytester adds one) do not count.
    """
    kinds = [type_name(each) for each in _plugins(config, object) if not isinstance(each, (str, ModuleType))]
    if not kinds:
        return ""
    return (
        f"pytest.main was given a plugin as an object ({', '.join(kinds)}), which later process starts do not have: "
        "use --devperf-processes=1 to measure in this process"
    )


def _plugins(config: pytest.Config, kinds: type | tuple[type, ...]) -> list[Any]:
    given = config.invocation_params.plugins or ()
    return [each for each in given if isinstance(each, kinds) and not type(each).__module__.startswith("_pytest.")]
