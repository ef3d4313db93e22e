"""Personalities: the facts in which families of phones differ, as data."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Literal

from pytest_devperf.simphone.state.physics import Body, State

Source = Literal["die", "skin", "battery", "air", "fixed"]

FEATURES = ("shell_v2", "cmd", "stat_v2", "ls_v2", "fixed_push_mkdir", "sendrecv_v2")
"""Features that the daemon advertises: only those that it implements. Advertising others (`delayed_ack`, compressed
transfers, `abb_exec`) would close streams or damage files without an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor:
    """One line of the thermal service."""

    name: str
    kind: int
    """`mType` in this family's numbering."""
    source: Source = "fixed"
    offset: float = 0.0
    """Added to the source; the complete value of a `fixed` sensor."""
    share: float = 0.0
    """Share of the temperature difference between die and skin that is added to the source."""

    def value(self, state: State, ambient_c: float) -> float:
        """Return its current reading."""
        base = {
            "die": state.die_c,
            "skin": state.skin_c,
            "battery": state.battery_c,
            "air": ambient_c,
            "fixed": 0.0,
        }[self.source]
        return base + self.offset + self.share * (state.die_c - state.skin_c)


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One folder under `/sys/class/thermal`."""

    sensor: Sensor
    scale: int = 1000
    """Units per degree: 1000, 10 or 1; one phone may use all three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolingDevice:
    """One cooling device."""

    name: str
    kind: int
    steps: int = 0
    """Its highest value, reached at status 6; 0 if it never changes."""
    resting: int = 0
    """Its value without throttling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThermalForm:
    """Output format of the thermal service."""

    connection: str = "ThermalHAL AIDL 1  connected: yes"
    """The line under `HAL connection:`."""
    ready: bool = True
    override_line: bool = True
    listeners: bool = True
    indent: str = "\t"
    thresholds: Literal["none", "aidl", "hidl"] = "aidl"
    headroom: bool = False
    cached_off_c: float = 12.0
    """Difference between the cached and the current temperatures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatteryForm:
    """Output format of the battery service."""

    indent: str = "  "
    newline: str = "\n"
    sources: tuple[str, ...] = ("AC", "USB", "Wireless", "Dock")
    extra: tuple[str, ...] = ()
    """Further lines of this family, after the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Personality:
    """A family of phones."""

    name: str
    words: str
    """Its distinguishing features, in one sentence."""
    manufacturer: str
    model: str
    codename: str
    board: str
    soc_maker: str
    soc: str
    release: str
    sdk: int
    build: str
    body: Body
    sensors: tuple[Sensor, ...] = ()
    zones: tuple[Zone, ...] = ()
    cooling: tuple[CoolingDevice, ...] = ()
    thermal: ThermalForm | None = ThermalForm()
    """None: the phone has no thermal service."""
    battery: BatteryForm = BatteryForm()
    features: tuple[str, ...] = FEATURES
    cpufreq: bool = True
    """Whether its kernel shows clocks."""
    fixed_performance: bool = True
    """Whether `cmd power` supports the command."""
    governor: str = "schedutil"
    memory_kib: int = 7_800_000
    storage_kib: int = 112_000_000
    emulator: bool = False

    @property
    def fingerprint(self) -> str:
        """The build's full name, in the usual format."""
        maker = self.manufacturer.lower()
        return f"{maker}/{self.codename}/{self.codename}:{self.release}/{self.build}/1:user/release-keys"


def host_abi() -> str:
    """Return the ABI of programs that really run here: this machine's, by Android's name."""
    machine = platform.machine().lower()
    return {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64-v8a", "arm64": "arm64-v8a"}.get(machine, machine)
