"""Sensors that plugins add (`pytest_devperf_sensors`): read in every look at this machine."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pytest_devperf.sensor.added import Sensor
from pytest_devperf.sensor.context import Context

SHELL_TIMEOUT_S = 10.0
"""Longest wait for one command of a sensor: a look is made before and after every case."""


def with_sensors(seen: Context, added: Iterable[Mapping[str, Sensor]]) -> Context:
    """Add to a look what further sensors read; one that fails is not known, and the look says why."""
    readings, notes = {}, list(seen.notes)
    for name, read in ((name, read) for sensors in added for name, read in sensors.items()):
        try:
            value = read(_ask_shell)
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not end a session
            notes.append(f"sensor {name}: {error!r}")
            continue
        if value is None:
            continue
        if isinstance(value, (int, float)) and math.isfinite(value):
            readings[name] = float(value)
        else:
            notes.append(f"sensor {name}: {value!r} is no temperature")
    return replace(seen, sensors_c=readings, notes=tuple(notes))


def _ask_shell(command: str) -> str:
    """Run a command on this machine and hand back what it printed."""
    return subprocess.run(  # noqa: S602 - the command is the plugin's own text
        command, shell=True, capture_output=True, text=True, timeout=SHELL_TIMEOUT_S, check=False
    ).stdout
