"""Sensors that plugins add to the devices of a session (`pytest_devperf_sensors`)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from pytest_devperf.errors import TargetError
from pytest_devperf.sensor.added import Sensor, Shell, merge_sensors, output_of, read_sensors
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.targets.protocol import ShellOffering

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.protocol import Target

SHELL_TIMEOUT_S = 10.0
"""Longest wait for one command of a sensor: sensors are read before and after every process start."""


class AddedSensors:
    """The sensors that plugins add, by device.

    Args:
        ask: Gets the sensors of a device from the plugins.
    """

    def __init__(self, ask: Callable[[Target], Sequence[object]]) -> None:
        self._ask = ask
        self._of: dict[int, Mapping[str, Sensor]] = {}
        """Sensors by the identity of their target."""

    def add(self, target: Target) -> None:
        """Get the sensors for a device that was just opened.

        Raises:
            UsageError: A plugin returns something else.
        """
        if id(target) not in self._of:
            self._of[id(target)] = merge_sensors(self._ask(target))

    def look(self, target: Target) -> Context:
        """Read a device's own sensors, and then those of plugins.

        Raises:
            TargetError: The device is gone.
        """
        seen = target.look()
        sensors = self._of.get(id(target))
        return read_sensors(seen, sensors, _shell_of(target)) if sensors else seen


def _shell_of(target: Target) -> Shell:
    if isinstance(target, ShellOffering):
        return target.shell
    return _ask_this_machine if is_this_machine(target) else _refuse(target)


def _refuse(target: Target) -> Shell:
    def refuse(command: str) -> NoReturn:
        raise TargetError(f"{target.device.name} has no shell for {command!r}", "read it on this machine")

    return refuse


def _ask_this_machine(command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S602 - the command is the plugin's own text
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SHELL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{command!r} took more than {SHELL_TIMEOUT_S:g} s") from None
    return output_of(command, done.returncode, done.stdout, done.stderr)
