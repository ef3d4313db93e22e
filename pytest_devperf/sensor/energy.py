"""Compute the energy that a device drew from its battery between two looks."""

from __future__ import annotations

from pytest_devperf.sensor.context import Context

MJ_PER_UAH_V = 3.6
"""1 µAh is 3.6 mC, and a coulomb at one volt is a joule."""

BATTERY = "battery"


def energy_mj(before: Context, after: Context) -> float | None:
    """Compute the energy in mJ that the whole device drew between two looks.

    Args:
        before: A look.
        after: A later look.

    Returns:
        None unless the device was on battery in both looks, reports charge and voltage, and the counter moved:
        many counters have steps of thousands of µAh.
    """
    if before.power_state != BATTERY or after.power_state != BATTERY:
        return None
    if before.charge_uah is None or after.charge_uah is None or before.voltage_mv is None or after.voltage_mv is None:
        return None
    drawn_uah = before.charge_uah - after.charge_uah
    if drawn_uah <= 0:
        return None
    return drawn_uah * (before.voltage_mv + after.voltage_mv) / 2 / 1000 * MJ_PER_UAH_V
