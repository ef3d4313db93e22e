"""Parse `dumpsys thermalservice` of Android 10 and later: status, temperatures, cooling devices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_devperf.sensor.reading import State, lines_of, raw_words, refusal
from pytest_devperf.sensor.zone import HIGHEST_C, LOWEST_C

TYPES = {
    0: "cpu",
    1: "gpu",
    2: "battery",
    3: "skin",
    4: "usb",
    5: "power-amplifier",
    6: "bcl-voltage",
    7: "bcl-current",
    8: "bcl-percentage",
    9: "npu",
    10: "tpu",
    11: "display",
    12: "modem",
    13: "soc",
    14: "wifi",
    15: "camera",
    16: "flashlight",
    17: "speaker",
    18: "ambient",
}
"""Kinds by `mType`. Source: AOSP hardware/interfaces/thermal/aidl, TemperatureType.aidl."""

NOT_CELSIUS = frozenset({"bcl-voltage", "bcl-current", "bcl-percentage"})
"""Kinds measured in mV, mA and %: 11900 is not a temperature."""

NAMES = (
    ("cpu", r"cpu.*|big|mid|middle|little|prime|gold.*|silver.*|ap"),
    ("gpu", r"gpu.*|g3d"),
    ("battery", r"batt?(ery)?[-_]?(temp|therm)?\d*"),
    ("skin", r"(virtual[-_])?skin[-_]?(temp|therm|sensor|virt)?\d*"),
    ("usb", r"usb[-_]?(port|c)?([-_]?(temp|therm).*)?\d*"),
    ("power-amplifier", r"pa\d*([-_]?therm\d*)?|power[-_]amplifier"),
    ("npu", r"(npu|nsp|nspss).*"),
    ("tpu", r"tpu"),
)
"""Kinds by name, which is more reliable than `mType`: vendors shift and invent types.

The names occur in dumps of Qualcomm, Tensor, MediaTek and Samsung; a prefix `TYPE_` is ignored.
"""

WHOLE = r"-?[0-9]{1,18}"
"""A whole number that fits into 64 bits."""

ENTRY = re.compile(rf"\s*Temperature\{{mValue=([^,}}]*), mType=({WHOLE}), mName=(.*), mStatus=({WHOLE})\}}")
COOLING = re.compile(rf"\s*CoolingDevice\{{mValue=({WHOLE}), mType=({WHOLE}), mName=(.*)\}}")
"""One line each. Source: AOSP android.os.Temperature and android.os.CoolingDevice, toString()."""

CURRENT = "Current temperatures from HAL:"
DEVICES = "Current cooling devices from HAL:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperature:
    """One plausible temperature."""

    name: str
    kind: str | None
    """`cpu`, `gpu`, `battery`, `skin`, …; None if neither name nor type is known."""
    value_c: float
    status: int
    """The throttling severity requested by this sensor; 0 is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThermalReading:
    """The thermal service's state."""

    state: State
    status: int | None = None
    """Overall severity, 0 none to 6 shutdown; None: not known. If the reading is faked, it is the override."""
    temps: Mapping[str, Temperature] = field(default_factory=dict)
    """Plausible temperatures by name; of several sensors with one name the hottest."""
    cooling: Mapping[str, int] = field(default_factory=dict)
    """Values of cooling devices by name; only a change since the session's start has a meaning."""
    overridden: bool = False
    why: str | None = None
    """Why it is unknown or faked, quoting the dump if possible."""

    @property
    def throttled(self) -> bool | None:
        """Whether the device reports throttling; even LIGHT changes times a lot. None if unreliable."""
        return None if self.state != "value" or self.status is None else self.status > 0

    @property
    def temps_c(self) -> dict[str, float]:
        """Every temperature in °C by name."""
        return {name: temperature.value_c for name, temperature in self.temps.items()}

    def hottest_c(self, kind: str) -> float | None:
        """Return the highest temperature of a kind; None if there is none."""
        return max((each.value_c for each in self.temps.values() if each.kind == kind), default=None)


def parse_thermalservice(text: str) -> ThermalReading:
    """Parse the dump.

    Only *Current temperatures from HAL* are used: cached values are from the last event and were observed to be 30 to
    50 °C off. A HAL that is not ready still prints `Thermal Status: 0`, which then means nothing.

    Returns:
        Unknown for a missing service, a HAL that is not ready, a dump without status, and a dump that was cut off.

    Source:
        AOSP ThermalManagerService.dumpInternal, Android 10 to 15.
    """
    lines = lines_of(text)
    ready = _flag(lines, "HAL Ready:")
    overridden = _flag(lines, "IsStatusOverride:") is True
    status = _status(lines)
    why = _unreadable(lines, status, ready=ready)
    if overridden:
        complete = why is None
        return ThermalReading(
            state="faked",
            status=status,
            temps=_temperatures(lines) if complete else {},
            cooling=_cooling(lines) if complete else {},
            overridden=True,
            why="IsStatusOverride: true",
        )
    if why is not None:
        return ThermalReading(state="unknown", why=why)
    return ThermalReading(state="value", status=status, temps=_temperatures(lines), cooling=_cooling(lines))


def kind_of(name: str, mtype: int) -> str | None:
    """Return what a sensor measures, by its name or else by its type.

    >>> kind_of("TYPE_SKIN", 4), kind_of("mb-therm-monitor", 3), kind_of("neutral_therm", -1)
    ('skin', 'skin', None)
    """
    return _kind_by_name(name) or TYPES.get(mtype)


def _kind_by_name(name: str) -> str | None:
    bare = re.sub(r"^TYPE_", "", name.strip(), flags=re.IGNORECASE)
    return next((kind for kind, pattern in NAMES if re.fullmatch(pattern, bare, re.IGNORECASE)), None)


def _flag(lines: Sequence[str], key: str) -> bool | None:
    words = [line.strip().removeprefix(key).strip() for line in lines if line.strip().startswith(key)]
    return {"true": True, "false": False}.get(words[0]) if words else None


def _status(lines: Sequence[str]) -> int | None:
    for line in lines:
        found = re.fullmatch(r"\s*Thermal Status:\s*([0-9]{1,3})", line)
        if found:
            return int(found[1])
    return None


def _unreadable(lines: Sequence[str], status: int | None, *, ready: bool | None) -> str | None:
    """Return why the dump cannot be used; None if it can."""
    if ready is None:
        return refusal("\n".join(lines)) or f"no line 'HAL Ready' in: {raw_words(' '.join(lines))}"
    if not ready:
        return "HAL Ready: false"
    headers = [line.strip() for line in lines]
    # The cooling devices always follow the temperatures: without their header, the dump is incomplete.
    if CURRENT not in headers or DEVICES not in headers[headers.index(CURRENT) :]:
        return f"the dump was cut off at: {_last(lines)}"
    last = _last(lines)
    if "{" in last and not last.endswith("}"):
        return f"the dump was cut off at: {last}"
    return "no line 'Thermal Status'" if status is None else None


def _last(lines: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _section(lines: Sequence[str], header: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the matching lines below a header, up to the first line that does not match."""
    headers = [line.strip() for line in lines]
    found: list[re.Match[str]] = []
    for line in lines[headers.index(header) + 1 :]:
        match = pattern.fullmatch(line)
        if match is None:
            break
        found.append(match)
    return found


def _temperatures(lines: Sequence[str]) -> dict[str, Temperature]:
    entries = [
        (name.strip(), value, int(mtype), int(status))
        for value, mtype, name, status in (match.groups() for match in _section(lines, CURRENT, ENTRY))
    ]
    shift = _shift([(name, mtype) for name, _, mtype, _ in entries], lines)
    temps: dict[str, Temperature] = {}
    for name, value, mtype, status in entries:
        value_c = _plausible_c(value)
        # The unit of an unknown type is not known.
        declared = TYPES.get(mtype - shift)
        kind = None if declared in NOT_CELSIUS else _kind_by_name(name) or declared
        if kind is not None and value_c is not None:
            other = temps.get(name)  # some vendors give every core the same name
            temps[name] = Temperature(
                name=name,
                kind=kind,
                value_c=max(value_c, other.value_c) if other else value_c,
                status=max(status, other.status) if other else status,
            )
    return temps


def _plausible_c(text: str) -> float | None:
    """Parse a value; 0.0, -99.9, NaN and negative values mean that the sensor does not exist."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and LOWEST_C <= value <= HIGHEST_C else None


def _shift(entries: Sequence[tuple[str, int]], lines: Sequence[str]) -> int:
    """Return by how much a vendor shifts its types: from sensors with a known kind, else from the HAL's name.

    Old Samsung phones (`Sdhms`) number CPU 1, GPU 2, BATTERY 3, SKIN 4, and so on.
    """
    usual = {kind: mtype for mtype, kind in TYPES.items()}
    offsets = [mtype - usual[kind] for name, mtype in entries for kind in [_kind_by_name(name)] if kind is not None]
    if offsets.count(1) != offsets.count(0):
        return int(offsets.count(1) > offsets.count(0))
    return int(any(re.match(r"\s*Sdhms\b", line) for line in lines))


def _cooling(lines: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in _section(lines, DEVICES, COOLING):
        name, value = match[3].strip(), int(match[1])
        found[name] = max(value, found.get(name, value))
    return found
