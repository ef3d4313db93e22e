"""Parse `dumpsys battery`: temperature, level and power source."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_devperf.sensor.reading import State, lines_of, raw_words, refusal
from pytest_devperf.untrusted import parse_whole

TENTHS_PER_C = 10
"""Unit of the battery's temperature. Source: android.os.BatteryManager.EXTRA_TEMPERATURE."""

BELIEVED_TENTHS = (1, 1000)
"""0.1 to 100 °C: a missing sensor reports 0, a broken one thousands."""

CHARGING = 2
"""`status`. Source: android.os.BatteryManager, BATTERY_STATUS_CHARGING."""

STATUSES = frozenset({2, 3, 4, 5})
"""Charging, discharging, not charging, full; 1 is unknown."""

STOPPED = re.compile(r"\s*\(?UPDATES STOPPED\b")
"""The line printed if somebody set the readings. Source: AOSP BatteryService.dumpInternal."""

HEADER = re.compile(r".* (state|stats|status|info|history|log|settings)", re.IGNORECASE)
"""A key without a value that begins another block; a sentence may end in a colon as well."""

SOURCES = ("ac", "usb", "wireless", "dock", "mod")
"""Power sources of a phone; MOD is a battery attached to its back."""

MOST_MV = 100_000
"""100 V: a phone's battery has 3 to 12 V."""

MOST_UA = 100_000_000
"""100 A, and 100 Ah: no phone draws or stores that much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatteryReading:
    """The battery service's values; if they are faked, every value is what somebody set."""

    state: State
    temp_c: float | None = None
    level_pct: float | None = None
    charging: bool | None = None
    powered: tuple[str, ...] | None = None
    """Sources that power the phone now (`ac`, `usb`, `wireless`, `dock`, `mod`); None: not known."""
    voltage_mv: int | None = None
    charge_counter_uah: int | None = None
    why: str | None = None
    """Why it is unknown or faked, or which reading is missing."""

    @property
    def power_state(self) -> str | None:
        """`AC` or `battery`, as in contexts."""
        if self.powered is None:
            return None
        return "AC" if self.powered else "battery"


def parse_battery(text: str) -> BatteryReading:
    """Parse the first block of the dump: the first of equal keys.

    Vendors add blocks with the same keys, sentences with a colon, and lines without one.

    Source:
        AOSP BatteryService.dumpInternal.
    """
    fields = _fields(text)
    if not {"level", "status", "present", "temperature"} & fields.keys():
        return BatteryReading(state="unknown", why=refusal(text) or raw_words(text))
    tenths = parse_whole(fields.get("temperature"))
    believed = tenths is not None and BELIEVED_TENTHS[0] <= tenths <= BELIEVED_TENTHS[1]
    faked = any(STOPPED.match(line) for line in lines_of(text))
    status = parse_whole(fields.get("status"))
    return BatteryReading(
        state="faked" if faked else "value",
        temp_c=tenths / TENTHS_PER_C if believed and tenths is not None else None,
        level_pct=_level_pct(fields),
        charging=status == CHARGING if status in STATUSES else None,
        powered=_powered(fields),
        voltage_mv=_positive(fields.get("voltage"), MOST_MV),
        charge_counter_uah=_positive(fields.get("charge counter"), MOST_UA),
        why="UPDATES STOPPED"
        if faked
        else None
        if believed
        else f"temperature: {fields.get('temperature', 'no line')}",
    )


def _fields(text: str) -> dict[str, str]:
    """Parse the `key: value` lines of the first block, which ends at the next header."""
    fields: dict[str, str] = {}
    for line in lines_of(text):
        key, colon, value = line.partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if not value and fields and HEADER.fullmatch(key):
            break
        fields.setdefault(key, value)
    return fields


def _positive(text: str | None, most: int) -> int | None:
    value = parse_whole(text)
    return value if value is not None and 0 < value <= most else None


def _level_pct(fields: dict[str, str]) -> float | None:
    level, scale = parse_whole(fields.get("level")), _positive(fields.get("scale"), MOST_UA) or 100
    return 100 * level / scale if level is not None and 0 <= level <= scale else None


def _powered(fields: dict[str, str]) -> tuple[str, ...] | None:
    powered = {source: fields[f"{source} powered"] for source in SOURCES if f"{source} powered" in fields}
    return tuple(source for source, word in powered.items() if word == "true") if powered else None
