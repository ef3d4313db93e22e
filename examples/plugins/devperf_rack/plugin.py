"""The hooks: pytest loads this module through the entry point `pytest11`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from devperf_rack.board import make_board
from devperf_rack.sqlite_store import make_store
from devperf_rack.thermometer import find_thermometers
from pytest_devperf import Sensor, Store, Target


def pytest_devperf_make_target(spec: str) -> Target | None:
    """Return the target of `--devperf-target=board:HOST`."""
    return make_board(spec)


def pytest_devperf_make_store(spec: str) -> Store | None:
    """Return the store of `--devperf-store=sqlite:FILE`."""
    return make_store(spec)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the ini key of the sensor."""
    parser.addini("thermometers", "files that contain a temperature in °C, as NAME=PATH", type="linelist", default=[])


def pytest_devperf_sensors(config: pytest.Config, target: Target) -> Mapping[str, Sensor]:
    """Add the thermometers of the ini file to every device except a simulated one."""
    return {} if target.device.kind == "sim" else find_thermometers(config.getini("thermometers"))
