"""Parse the power source of a Linux machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_devperf.untrusted import parse_whole

FULL_PCT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Power source and battery."""

    state: str | None = None
    """`AC` or `battery`."""
    battery_pct: float | None = None
    charging: bool | None = None


def parse_supply(supplies: Sequence[Mapping[str, str]]) -> Supply:
    """Combine the files of `/sys/class/power_supply/*`.

    Args:
        supplies: Per supply the texts of `type`, `scope`, `online`, `status`, `capacity`, if they exist.
            Batteries of mice and headsets have the scope `Device` and are left out.

    Source:
        Linux Documentation/ABI/testing/sysfs-class-power.
    """
    own = [supply for supply in supplies if supply.get("scope") != "Device"]
    batteries = [supply for supply in own if supply.get("type") == "Battery"]
    mains = [supply.get("online") not in ("0", None) for supply in own if supply.get("type") in ("Mains", "USB")]
    statuses = [battery.get("status") for battery in batteries]
    state = "AC" if any(mains) else None
    if state is None and batteries:
        state = "battery" if "Discharging" in statuses or mains else "AC"
    capacities = [parse_whole(battery.get("capacity")) for battery in batteries]
    levels = [float(level) for level in capacities if level is not None and 0 <= level <= FULL_PCT]
    return Supply(
        state=state,
        battery_pct=min(levels, default=None),
        charging="Charging" in statuses if batteries else None,
    )
