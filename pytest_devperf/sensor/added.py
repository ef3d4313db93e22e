"""Sensors that plugins add to a device (`pytest_devperf_sensors`)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Union

from pytest_devperf.errors import DevperfError, TargetError, UsageError
from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.reading import raw_words
from pytest_devperf.untrusted import shown

Shell = Callable[[str], str]
"""Runs a command on the measured device and returns its output."""

Sensor = Callable[[Shell], Union[float, None]]
"""Reads a temperature in °C, with the device's shell or without it; None is *not known*."""

FAILED_SENSOR = "sensor "
"""How the note of a sensor that failed begins; its name and the reason follow."""


def output_of(command: str, returncode: int, output: str, error_output: str) -> str:
    """Return what a command of a sensor printed.

    Raises:
        TargetError: It failed.
    """
    if returncode:
        raise TargetError(f"{command!r} ended with exit code {returncode}", raw_words(error_output or output))
    return output


def merge_sensors(answers: Iterable[object]) -> dict[str, Sensor]:
    """Combine the sensors of several plugins; for equal names, the first answer counts.

    Raises:
        UsageError: An answer is not a mapping of names to functions.
    """
    merged: dict[str, Sensor] = {}
    for answer in answers:
        if answer is None:
            continue
        if not isinstance(answer, Mapping) or not all(isinstance(each, str) for each in answer):
            raise UsageError(f"pytest_devperf_sensors answered {shown(answer)}", "return a dict: name -> function")
        for name, read in answer.items():
            if not callable(read):
                raise UsageError(f"sensor {name} is {shown(read)}, not a function", "return a dict: name -> function")
            merged.setdefault(name, read)
    return merged


def read_sensors(seen: Context, sensors: Mapping[str, Sensor], shell: Shell) -> Context:
    """Read further sensors of a device, and add their temperatures to the device's own.

    The reading of a sensor that fails is not known, and a note gives the reason.
    """
    readings_c: dict[str, float] = {}
    notes = list(seen.notes)
    for name, read in sensors.items():
        try:
            value = _as_celsius(read(shell))
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not end a session
            why = str(error) if isinstance(error, DevperfError) else shown(error)
            notes.append(raw_words(f"{FAILED_SENSOR}{name}: {why}"))
            continue
        if value is not None:
            readings_c[name] = value
    return replace(seen, sensors_c=readings_c, notes=tuple(notes))


def _as_celsius(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise TargetError(f"{shown(value)} is not a temperature")
    return float(value)
