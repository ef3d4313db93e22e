"""Open the device that a verb uses."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_devperf.cli.output import echo_error
from pytest_devperf.cli.plugins import ask_for_target
from pytest_devperf.errors import UsageError
from pytest_devperf.targets.clock import SystemClock

if TYPE_CHECKING:
    from pytest_devperf.targets.android.target import AndroidTarget
    from pytest_devperf.targets.protocol import Clock, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A device, and the clock used for waits."""

    target: Target
    clock: Clock
    """For a simulated phone, its own clock: waiting takes no time."""


def add_target(parser: argparse.ArgumentParser, *, default: str) -> None:
    """Add `--target`."""
    parser.add_argument(
        "--target",
        default=default,
        metavar="SPEC",
        help=f"auto, host, android, android:SERIAL, sim, or the target of a plugin (default: {default})",
    )


def open_device(spec: str, stack: ExitStack) -> Opened:
    """Open the device of a spec; the stack closes it.

    Raises:
        UsageError: There is no such device.
        TargetError: It was disconnected.
    """
    from pytest_devperf.targets.android.target import AndroidTarget

    added = ask_for_target(spec)
    if added is not None:
        stack.callback(getattr(added, "close", lambda: None))
        return Opened(target=added, clock=SystemClock())
    if spec.partition(":")[0] == "sim":
        from pytest_devperf.simphone import parse_spec, simulated_phone

        personality, mishap = parse_spec(spec)
        phone = stack.enter_context(simulated_phone(personality, mishap=mishap))
        target = AndroidTarget(serial=phone.serial, server_port=phone.server_port, clock=phone.clock)
        stack.callback(target.close)
        return Opened(target=target, clock=phone.clock)
    clock = SystemClock()
    found = None if spec == "host" else _open_phone(spec, clock)
    if found is not None:
        stack.callback(found.close)
        return Opened(target=found, clock=clock)
    if spec not in {"host", "auto"}:
        raise UsageError(
            f"--target={spec}: no such device",
            "use auto, host, android, android:SERIAL or sim, or install the plugin whose target it is",
        )
    return Opened(target=_open_host(clock), clock=clock)


def _open_phone(spec: str, clock: Clock) -> AndroidTarget | None:
    """Open the phone of a spec; if `auto` cannot use any attached phone, print why and use this machine."""
    from pytest_devperf.targets.android.open import NoUsablePhone, open_target

    try:
        return open_target(spec, clock=clock)
    except NoUsablePhone as obstacle:
        echo_error(f"this machine is used instead of a phone: {obstacle}")
        return None


def _open_host(clock: Clock) -> Target:
    from pytest_devperf.sensor.host.machine import Machine
    from pytest_devperf.targets.host.identity import read_device
    from pytest_devperf.targets.host.target import HostTarget

    machine = Machine()
    return HostTarget(device=read_device(), clock=clock, look=lambda: machine.look(clock.now_ns()))
