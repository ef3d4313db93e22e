"""Parse thermal zones: select temperatures, and convert their units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

MILLI_FROM = 1000
"""Magnitude from which a zone is in thousandths: no plausible temperature in tenths is that large."""

TENTHS_FROM = 200
"""Magnitude from which a zone is in tenths: nothing that still runs is 200 °C hot."""

LOWEST_C = 1.0
"""Lowest plausible reading; absent sensors report 0 and negative numbers."""

HIGHEST_C = 150.0
"""Highest plausible reading; silicon shuts down before it gets hotter."""

NO_TEMPERATURE = re.compile(
    r".*-step|.*-lowf|lmh-dcvs.*|soc.*|vbat.*|ibat.*|bcl.*|vph.*|(soft[_-])?ocp.*|vdroop.*", re.IGNORECASE
)
"""Zones with voltages, currents, charge or trip states instead of a temperature.

Source: zone types of Qualcomm kernels (`drivers/thermal/qcom`: bcl, lmh-dcvs, `-step` and `-lowf`
virtual zones, `soc` = state of charge) and of Tensor kernels (`ocp_*`, `soft_ocp_*`, `vdroop*`: currents and
voltages at which the chip is throttled).
"""

ZONES = 128
"""Zones to read by number: listing the folder may be forbidden, and phones have up to about 100."""

ZONE_SCRIPT = f"""\
n=0
while [ $n -lt {ZONES} ]; do
  d=/sys/class/thermal/thermal_zone$n
  if {{ read -r t < $d/type && read -r v < $d/temp; }} 2>/dev/null; then echo "$t\t$v"; fi
  n=$((n + 1))
done"""
"""Prints `cpu-0-0-usr<tab>45300` per readable zone; the tab is literally in the script."""


def is_temperature(name: str) -> bool:
    """Return whether a zone measures a temperature, by its type.

    >>> [is_temperature(name) for name in ("cpu-0-0-usr", "soc", "ibat-high", "soft_ocp_tpu")]
    [True, False, False, False]
    """
    return NO_TEMPERATURE.fullmatch(name.strip()) is None


def celsius(value: float) -> float | None:
    """Convert a zone's value to °C, whatever its unit; return None if it is implausible.

    >>> celsius(45300), celsius(453), celsius(45), celsius(0), celsius(-99900)
    (45.3, 45.3, 45.0, None, None)
    """
    if not math.isfinite(value):
        return None
    if abs(value) >= MILLI_FROM:
        value /= 1000
    elif abs(value) >= TENTHS_FROM:
        value /= 10
    return float(value) if LOWEST_C <= value <= HIGHEST_C else None


def parse_celsius(text: str | None) -> float | None:
    r"""Parse the content of a `temp` file.

    >>> parse_celsius("45300\n"), parse_celsius("cat: temp: Invalid argument"), parse_celsius(None)
    (45.3, None, None)
    """
    try:
        return celsius(float(text.strip())) if text else None
    except ValueError:
        return None


def parse_zones(text: str) -> Mapping[str, float]:
    """Parse lines of `TYPE<tab>TEMP`, one per zone, into °C by zone type.

    Args:
        text: Output of a loop over `/sys/class/thermal/thermal_zone*/{type,temp}`. A type may contain blanks;
            the second half is empty or not a number if a zone could not be read.

    Returns:
        °C by type, of several zones of one type the hottest. Empty if there are no temperatures.
    """
    pairs = (line.rstrip("\r").rpartition("\t")[::2] for line in text.split("\n"))
    return hottest((name.strip(), parse_celsius(value)) for name, value in pairs if name)


def hottest(readings: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Return the plausible temperatures by name, of equal names the hottest."""
    temps_c: dict[str, float] = {}
    for name, value in readings:
        if value is not None and is_temperature(name):
            temps_c[name] = max(value, temps_c.get(name, value))
    return temps_c
