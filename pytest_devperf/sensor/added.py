"""Sensors that plugins add to a target (`pytest_devperf_sensors`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

Shell = Callable[[str], str]
"""Runs a command on the measured device and returns what it printed."""

Sensor = Callable[[Shell], Union[float, None]]
"""Reads a temperature in °C, with the device's shell or without it; None is *not known*."""
