"""An iPhone as a target: it only runs apps that host their own cases.

Xcode's `devicectl` lists the connected iPhones and starts apps on them. The app reports over the local network.
Neither temperature nor clocks can be read from outside, so the wait before a pass is fixed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from pytest_devperf.case.workload import App, Workload
from pytest_devperf.errors import TargetError, Unsupported, UsageError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.app.collector import Collector
from pytest_devperf.targets.app.launch import AppCommand, build_app, require_platform
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device, hash_unit
from pytest_devperf.targets.ios.devicectl import Connected, launch_command, list_connected
from pytest_devperf.targets.protocol import Clock, Runner

if TYPE_CHECKING:
    from pytest_devperf.targets.app.wire import CaseReport, Task

ADDRESS_VARIABLE = "PYTEST_DEVPERF_ADDRESS"
"""Sets this machine's address in the network of the iPhone, if the machine has several."""

SOMEWHERE = ("192.0.2.1", 9)
"""An address that nobody has (RFC 5737): looking up the route to it sends nothing, and shows this machine's address."""


class IosTarget:
    """An iPhone."""

    def __init__(self, phone: Connected, *, clock: Clock | None = None, identity: str = "unit") -> None:
        """Collect the facts of an iPhone.

        Args:
            phone: The iPhone.
            clock: The session's clock; None: this machine's.
            identity: `unit` or `model`: whether another unit of the same model is another device.
        """
        self._phone = phone
        self._clock: Clock = clock or SystemClock()
        self.device = Device(
            kind="ios",
            manufacturer="Apple",
            model=phone.model,
            soc=phone.product,
            abi="arm64",
            unit=hash_unit("ios", phone.identifier),
            by_unit=identity == "unit",
        )

    def look(self) -> Context:
        """Return the little that is known from outside."""
        return Context(
            at_ns=self._clock.now_ns(),
            env={"os": self._phone.os},
            notes=("an iPhone shows neither temperature nor clocks",),
        )

    def start(self, workload: Workload, process: int) -> AbstractContextManager[Runner]:  # noqa: ARG002 - as every target
        """Refuse: an iPhone only runs apps."""
        raise Unsupported(
            f"a {type(workload).__name__.lower()} cannot run on {self.device.name} by itself",
            "host it in an app and use devperf.app",
        )

    def host(self, app: App, task: Task, *, build: bool, announce: Callable[[str], None]) -> Iterator[CaseReport]:
        """Start an app that hosts its own cases, and yield the report of each case; the next start ends the app.

        Args:
            app: The app.
            task: Its task.
            build: Whether to run the app's `build` command first.
            announce: Shows a sentence to the user.

        Raises:
            Unsupported: The app is for another kind of phone.
            CaseError: The app cannot be built or started, or ended its run without a case that it must report.
            TargetError: The app sent nothing in time, or this machine is not in a network.
        """
        require_platform(app, "ios", self.device)
        with ExitStack() as stack:
            collector = stack.enter_context(Collector(task, host=own_address()))
            variables = {**app.environment, **collector.environment}
            environment = {**variables, "DEVICE": self._phone.identifier}
            if build:
                build_app(app.build, environment=environment, cwd=app.cwd, app=app.id)
            launch: AppCommand | None = None
            if app.no_launch:
                words = " ".join(f"{name}={value}" for name, value in variables.items())
                announce(f"waiting for {app.id}: start it now with {words}")
            else:
                argv = app.launch or launch_command(app.id, self._phone.identifier, variables)
                launch = stack.enter_context(
                    AppCommand(argv, environment=environment, cwd=app.cwd, what=f"the start of {app.id}")
                )
            expected = app.cases if task.only is None else (task.only,)
            wanted = [case for case in expected or () if case not in task.done]
            yield from collector.reports(
                timeout_s=app.timeout_s, expected=wanted, watch=launch.check if launch is not None else None
            )


def open_iphone(spec: str, *, clock: Clock | None = None, identity: str = "unit") -> IosTarget | None:
    """Open the iPhone of a spec: `ios`, or `ios:IDENTIFIER`.

    Args:
        spec: The value of `--devperf-target`.
        clock: As for `IosTarget`.
        identity: As for `IosTarget`.

    Returns:
        None if the spec is for another kind of device.

    Raises:
        UsageError: `devicectl` is missing, or there is no such iPhone, or there are several.
    """
    kind, _, identifier = spec.partition(":")
    if kind != "ios":
        return None
    connected = [phone for phone in list_connected() if not identifier or phone.identifier == identifier]
    if len(connected) != 1:
        there = ", ".join(f"{phone.model or 'iPhone'} (ios:{phone.identifier})" for phone in connected)
        raise UsageError(
            f"--devperf-target={spec}: {len(connected)} iPhones are connected{f': {there}' if there else ''}",
            "choose one with --devperf-target=ios:IDENTIFIER" if connected else "connect one, unlock it and trust it",
        )
    return IosTarget(connected[0], clock=clock, identity=identity)


def own_address() -> str:
    """Find this machine's address in the local network.

    Raises:
        TargetError: It is not in a network.
    """
    named = os.environ.get(ADDRESS_VARIABLE)
    if named:
        return named
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(SOMEWHERE)
            return str(way.getsockname()[0])
        except OSError as error:
            raise TargetError(
                f"this machine is not in a network ({error.strerror})", f"join the iPhone's, or set {ADDRESS_VARIABLE}"
            ) from error
