"""Hooks for other plugins, and their calls; an implementation in a conftest overrides ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.compare.policy import Policy
    from pytest_devperf.record.record import Comparison, Record
    from pytest_devperf.report.report import Report
    from pytest_devperf.sensor.added import Sensor
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
def pytest_devperf_sensors(config: pytest.Config, target: Target) -> Mapping[str, Sensor] | None:
    """Answer further sensors of a device by name; each may use the device's shell, and returns °C or None.

    They are read before and after every process start; `run_context.sensors_max_c` has the highest value of each.
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
    """Receive the record of a finished case."""


@pytest.hookspec
def pytest_devperf_report(config: pytest.Config, report: Report) -> Any:  # noqa: ANN401 - the answers are not used
    """Receive the report of the whole session at its end."""


class Services:
    """Calls the hooks of other plugins for a session; ours are called last."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def clock(self) -> Clock | None:
        """Ask for the clock."""
        clock: Clock | None = self._config.hook.pytest_devperf_clock(config=self._config)
        return clock

    def make_target(self, spec: str) -> Target | None:
        """Ask for the target that a spec means."""
        target: Target | None = self._config.hook.pytest_devperf_make_target(config=self._config, spec=spec)
        return target

    def sensors(self, target: Target) -> Sequence[object]:
        """Ask for further sensors of a device."""
        answers: Sequence[object] = self._config.hook.pytest_devperf_sensors(config=self._config, target=target)
        return answers

    def prepare_simulated(self, phone: SimPhone) -> None:
        """Have a simulated phone prepared."""
        self._config.hook.pytest_devperf_simulated_phone(config=self._config, phone=phone)

    def make_store(self, spec: str) -> Store | None:
        """Ask for the store that a spec means."""
        store: Store | None = self._config.hook.pytest_devperf_make_store(config=self._config, spec=spec)
        return store

    def compare(self, record: Record, baseline: Baseline, policy: Policy) -> Comparison | None:
        """Ask for the verdict of a case."""
        comparison: Comparison | None = self._config.hook.pytest_devperf_compare(
            config=self._config, record=record, baseline=baseline, policy=policy
        )
        return comparison
