"""Judge the readings of a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_devperf.doctor.finding import Finding, good, unknown
from pytest_devperf.record.own_cautions import LOW_BATTERY_PCT
from pytest_devperf.sensor.android.power import PowerReading
from pytest_devperf.sensor.context import Context

WARM_C = 38.0
"""Temperature of skin or battery from which phones begin to slow down: their first limits are at 37 to 43 °C."""

BUSY_CPU_PCT = 15.0
"""CPU use of an idle phone from which something works in the background; an idle one stays below ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneState:
    """A phone that nothing was changed on."""

    context: Context
    """Its readings after a moment without work."""
    power: PowerReading
    leftover: str | None
    """What an earlier session left changed on it, in words; None: nothing."""
    emulator: bool
    debuggable: bool


def examine_phone(phone: PhoneState) -> Iterator[Finding]:
    """Examine a phone."""
    yield _leftover(phone)
    yield from examine_readings(phone.context)
    yield _saver(phone.power)
    yield _screen(phone.power)
    yield _kind(phone)


def examine_readings(context: Context) -> Iterator[Finding]:
    """Examine what a session reads of a phone anyway."""
    yield _sensors(context)
    yield _heat(context)
    yield _load(context)
    yield _battery(context)
    yield _charging(context)
    yield _caps(context)


def _leftover(phone: PhoneState) -> Finding:
    if phone.leftover is None:
        return good("leftovers", "none of an earlier session")
    return Finding(
        check="leftovers",
        grade="bad",
        found=phone.leftover,
        costs="its clocks or its screen are not as they are in everyday use",
        remedy="devperf unpin (the next session does it, too)",
    )


def _sensors(context: Context) -> Finding:
    if not context.faked:
        return good("sensors", "none is overridden")
    return Finding(
        check="sensors",
        grade="bad",
        found="somebody overrides the battery or the thermal service",
        costs="temperatures and throttling that are reported are invented; such runs are refused",
        remedy="adb shell dumpsys battery reset; adb shell cmd thermalservice reset",
    )


def _heat(context: Context) -> Finding:
    if context.throttled:
        return Finding(
            check="heat",
            grade="bad",
            found="it is slowed down because it is hot" + _at(context),
            costs="everything is slower until it cools; such runs are refused",
            remedy="devperf cooldown --target android",
        )
    if context.temp_c is None:
        return unknown("heat")
    if context.temp_c < WARM_C:
        return good("heat", f"{context.temp_c:.1f} °C")
    return Finding(
        check="heat",
        grade="poor",
        found=f"{context.temp_c:.1f} °C",
        costs="it will soon slow down; the wait before each pass gets longer",
        remedy="devperf cooldown --target android; take it out of its case, and off the charger",
    )


def _at(context: Context) -> str:
    return "" if context.temp_c is None else f" ({context.temp_c:.1f} °C)"


def _load(context: Context) -> Finding:
    if context.cpu_pct is None:
        return unknown("load")
    found = f"{context.cpu_pct:.0f} % of its CPUs are used without us"
    if context.cpu_pct <= BUSY_CPU_PCT:
        return good("load", found)
    return Finding(
        check="load",
        grade="poor",
        found=found,
        costs="updates or synchronisation take cores and warm it",
        remedy="flight mode, and wait some minutes after unlocking it",
    )


def _saver(power: PowerReading) -> Finding:
    if power.battery_saver is None:
        return unknown("battery saver")
    if not power.battery_saver:
        return good("battery saver", "off")
    return Finding(
        check="battery saver",
        grade="bad",
        found="on",
        costs="clocks are capped",
        remedy="adb shell settings put global low_power 0, or plug it in",
    )


def _battery(context: Context) -> Finding:
    if context.battery_pct is None:
        return unknown("battery")
    found = f"{context.battery_pct:.0f} %"
    if context.battery_pct >= LOW_BATTERY_PCT:
        return good("battery", found)
    return Finding(
        check="battery",
        grade="poor",
        found=found,
        costs="phones save power by themselves below a quarter",
        remedy="charge it, and let it cool before measuring",
    )


def _charging(context: Context) -> Finding:
    if context.charging is None:
        return unknown("charging")
    if not context.charging:
        return good("charging", "no")
    return Finding(
        check="charging",
        grade="note",
        found="yes",
        costs="the battery stays warm, so the phone slows down earlier",
        remedy="charge it fully first, or stop at 80 % in its settings",
    )


def _screen(power: PowerReading) -> Finding:
    if power.wakefulness is None:
        return unknown("screen")
    if power.awake:
        return good("screen", "on")
    return Finding(
        check="screen",
        grade="note",
        found=f"off ({power.wakefulness})",
        costs="a dozing phone stops programs; sessions keep the screen on while they measure",
    )


def _caps(context: Context) -> Finding:
    if not context.max_khz:
        return unknown("clocks")
    highest = max(context.max_khz.values()) / 1000
    governor = f", {context.governor}" if context.governor else ""
    return good("clocks", f"up to {highest:.0f} MHz{governor}")


def _kind(phone: PhoneState) -> Finding:
    if phone.emulator:
        return Finding(
            check="system",
            grade="note",
            found="an emulator",
            costs="its speed is that of this computer, and nothing on it gets hot",
            remedy="measure on a phone",
        )
    if phone.debuggable:
        return Finding(
            check="system",
            grade="note",
            found="a debug build",
            costs="it is slower than what users have, and by another factor for each program",
        )
    return good("system", "a release build")
