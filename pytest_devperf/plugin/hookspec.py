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
    """Return the clock that everything in this process waits and times with."""


@pytest.hookspec(firstresult=True)
def pytest_devperf_make_target(config: pytest.Config, spec: str) -> Target | None:
    """Return the target for `--devperf-target=SPEC` or a marker's `target=`."""


@pytest.hookspec
def pytest_devperf_simulated_phone(config: pytest.Config, phone: SimPhone) -> None:
    """Prepare a simulated phone that was just switched on: install apps, slow it down, warm it."""


@pytest.hookspec
def pytest_devperf_sensors(config: pytest.Config, target: Target) -> Mapping[str, Sensor] | None:
    """Return further sensors of a device by name; each may use the device's shell, and returns °C or None.

    They are read before and after every process start; `run_context.sensors_max_c` has the highest value of each.
    """


@pytest.hookspec(firstresult=True)
def pytest_devperf_make_store(config: pytest.Config, spec: str) -> Store | None:
    """Return the store for `--devperf-store=SPEC`."""


@pytest.hookspec(firstresult=True)
def pytest_devperf_compare(
    config: pytest.Config, record: Record, baseline: Baseline, policy: Policy
) -> Comparison | None:
    """Return the verdict of a case."""


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
        """Get the clock of a plugin."""
        clock: Clock | None = self._config.hook.pytest_devperf_clock(config=self._config)
        return clock

    def make_target(self, spec: str) -> Target | None:
        """Get the target of a spec."""
        target: Target | None = self._config.hook.pytest_devperf_make_target(config=self._config, spec=spec)
        return target

    def sensors(self, target: Target) -> Sequence[object]:
        """Get further sensors of a device."""
        answers: Sequence[object] = self._config.hook.pytest_devperf_sensors(config=self._config, target=target)
        return answers

    def prepare_simulated(self, phone: SimPhone) -> None:
        """Let plugins prepare a simulated phone."""
        self._config.hook.pytest_devperf_simulated_phone(config=self._config, phone=phone)

    def make_store(self, spec: str) -> Store | None:
        """Get the store of a spec."""
        store: Store | None = self._config.hook.pytest_devperf_make_store(config=self._config, spec=spec)
        return store

    def compare(self, record: Record, baseline: Baseline, policy: Policy) -> Comparison | None:
        """Get another plugin's verdict of a case."""
        comparison: Comparison | None = self._config.hook.pytest_devperf_compare(
            config=self._config, record=record, baseline=baseline, policy=policy
        )
        return comparison
