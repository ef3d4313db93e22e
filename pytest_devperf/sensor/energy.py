"""Energy that a device drew from its battery between two looks."""

from __future__ import annotations

from pytest_devperf.sensor.context import Context

MJ_PER_UAH_V = 3.6
"""1 µAh is 3.6 mC, and a coulomb at a volt is a joule."""

BATTERY = "battery"


def energy_mj(before: Context, after: Context) -> float | None:
    """Tell the energy drawn between two looks, in mJ, of everything the device did meanwhile.

    Args:
        before: A look.
        after: A later one.

    Returns:
        None where it was not on battery in both, tells no charge counter or voltage, or the counter has not moved:
        many count in steps of thousands of µAh.
    """
    if before.power_state != BATTERY or after.power_state != BATTERY:
        return None
    if before.charge_uah is None or after.charge_uah is None or before.voltage_mv is None or after.voltage_mv is None:
        return None
    drawn_uah = before.charge_uah - after.charge_uah
    if drawn_uah <= 0:
        return None
    return drawn_uah * (before.voltage_mv + after.voltage_mv) / 2 / 1000 * MJ_PER_UAH_V
