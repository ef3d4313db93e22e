"""Settings of hypothesis, default signal handlers, and cleanup after a test that hangs."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator

import hypothesis
import psutil
import pytest
from rights import bound_by_permissions

# Sessions of tests are not the step of a workflow, even in CI: they write neither its summary nor annotations.
os.environ.pop("GITHUB_ACTIONS", None)

hypothesis.settings.register_profile(
    "devperf",
    deadline=None,  # a deadline asserts a wall time
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # and so does this check
    derandomize="CI" in os.environ,  # an example that fails by chance belongs to a run somebody looks at
    print_blob=True,
)
hypothesis.settings.load_profile("devperf")

USUAL_HANDLERS = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL, "SIGTERM": signal.SIG_DFL}
"""What Python does on signals in a terminal; `nohup pytest &` passes SIGINT and SIGHUP on as ignored."""


CAMPAIGN = "campaign"
"""Property of a report with what a test of `tests/faults` did to sessions and saves."""


@pytest.fixture
def campaign(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Record how often a fault was caused, for the table at the end of the run."""
    return lambda fault, times: record_property(CAMPAIGN, (fault, times))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the faults campaign did, also if the workers of pytest-xdist did it."""
    times = Counter[str]()
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        for name, value in getattr(report, "user_properties", ()) if getattr(report, "when", "") == "call" else ():
            if name == CAMPAIGN:
                times[value[0]] += value[1]
    if times:
        terminalreporter.section("faults")
        for fault, count in sorted(times.items()):
            terminalreporter.write_line(f"{count:6} {fault}")
        terminalreporter.write_line(f"{sum(times.values()):6} in all")


@pytest.fixture
def usual_signals() -> Iterator[None]:
    """Handle signals as in a terminal, here and in the processes that a test starts."""
    numbers = {getattr(signal, name): handler for name, handler in USUAL_HANDLERS.items() if hasattr(signal, name)}
    before = {number: signal.signal(number, handler) for number, handler in numbers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable coverage in processes that a test starts, because the test checks their times or what traces them."""
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.fixture
def ordinary_rights() -> Iterator[None]:
    """Make the permissions of files apply, even to root."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions as POSIX knows them")
    if os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("permissions apply to root only on Linux")
    with bound_by_permissions():
        yield


BOOT_TIME_STEP_S = 1.0
"""The age of a process is relative to the boot time, which the kernel reports in whole seconds."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """End the processes of a test that hung: nobody waits for them any longer."""
    report = yield
    if call.excinfo is not None and "from pytest-timeout" in str(call.excinfo.value):
        for child in psutil.Process().children(recursive=True):
            if child.create_time() >= call.start - BOOT_TIME_STEP_S:
                child.kill()
    return report
