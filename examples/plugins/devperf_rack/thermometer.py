"""A sensor: a thermometer that writes its readings to a file, next to the device or in the air around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from pytest_devperf import Sensor, Shell


def find_thermometers(lines: Iterable[str]) -> Mapping[str, Sensor]:
    """Make a sensor for each line `NAME=PATH`."""
    named = (line.partition("=") for line in lines)
    return {name.strip(): partial(read_thermometer, Path(path.strip())) for name, _, path in named}


def read_thermometer(path: Path, shell: Shell) -> float | None:
    """Read the file on this computer; for a file on the device, call `shell(f"cat {path}")` instead.

    An error does not end the session: the reading is then not known, and the report shows the reason.
    """
    text = path.read_text(encoding="utf-8").strip()
    return float(text) if text else None
