"""Hooks for other plugins; a conftest's answer beats ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.compare.policy import Policy
    from pytest_devperf.record.record import Comparison, Record
    from pytest_devperf.report.report import Report
    from pytest_devperf.simphone import SimPhone
    from pytest_devperf.store.store import Store
    from pytest_devperf.targets.protocol import Clock, Target


@pytest.hookspec(firstresult=True)
def pytest_devperf_clock(config: pytest.Config) -> Clock | None:
    """Answer the clock that everything in this process waits and times by."""


@pytest.hookspec(firstresult=True)
def pytest_devperf_make_target(config: pytest.Config, spec: str) -> Target | None:
    """Answer the target that `--devperf-target=SPEC` or a marker's `target=` means."""


@pytest.hookspec
def pytest_devperf_simulated_phone(config: pytest.Config, phone: SimPhone) -> None:
    """Prepare a simulated phone that was just switched on: install apps, slow it down, warm it."""


@pytest.hookspec
def pytest_devperf_sensors(
    config: pytest.Config, target: Target
) -> Mapping[str, Callable[[Callable[[str], str]], float | None]] | None:
    """Answer further sensors of this machine by name; each asks a shell and gives °C, or None for *not known*.

    They are read before and after every case; `run_context.sensors_max_c` holds the highest of each.
    """


@pytest.hookspec(firstresult=True)
def pytest_devperf_make_store(config: pytest.Config, spec: str) -> Store | None:
    """Answer the store that `--devperf-store=SPEC` means."""


@pytest.hookspec(firstresult=True)
def pytest_devperf_compare(
    config: pytest.Config, record: Record, baseline: Baseline, policy: Policy
) -> Comparison | None:
    """Answer the verdict of a case."""


@pytest.hookspec
def pytest_devperf_recorded(config: pytest.Config, record: Record) -> None:
    """Hear of a finished case."""


@pytest.hookspec
def pytest_devperf_report(config: pytest.Config, report: Report) -> Any:  # noqa: ANN401 - the answers are not used
    """Hear of the whole session at its end."""
