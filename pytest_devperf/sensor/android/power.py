"""Parse `dumpsys power`: whether the phone is awake, and whether it saves power."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_devperf.sensor.reading import State, raw_words, refusal

NUMBERS = {"0": "Asleep", "1": "Awake", "2": "Dreaming", "3": "Dozing"}
"""Wakefulness, if a vendor prints its number. Source: AOSP PowerManagerInternal, WAKEFULNESS_*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerReading:
    """The power service's state."""

    state: State
    wakefulness: str | None = None
    """`Awake`, `Asleep`, `Dozing` or `Dreaming`."""
    battery_saver: bool | None = None
    why: str | None = None

    @property
    def awake(self) -> bool | None:
        """Whether the screen is on and the device does not doze."""
        return None if self.wakefulness is None else self.wakefulness == "Awake"


def parse_power(text: str) -> PowerReading:
    """Parse the dump; only the *first* `mWakefulness=` counts, later ones are numbers of display groups.

    Source:
        AOSP PowerManagerService.dumpInternal; the battery saver was `mLowPowerModeEnabled` before Android 9.
    """
    refused = refusal(text)
    wakefulness = re.search(r"^[ \t]*mWakefulness=(\w{1,40})\b", text, re.MULTILINE)
    saver = re.search(
        r"^[ \t]*(?:mSettingBatterySaverEnabled|mLowPowerModeEnabled)=[ \t]*(true|false)", text, re.MULTILINE
    )
    if wakefulness is None and saver is None:
        return PowerReading(state="unknown", why=refused or raw_words(text))
    return PowerReading(
        state="value",
        wakefulness=NUMBERS.get(wakefulness[1], wakefulness[1]) if wakefulness else None,
        battery_saver=saver[1] == "true" if saver else None,
    )
