"""An iPhone as a target: it only runs apps that host their own cases.

Xcode's `devicectl` lists the connected iPhones and starts apps on them. The app reports over the local network.
Neither temperature nor clocks can be read from outside, so the wait before a pass is fixed.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_devperf.case.workload import App, Workload
from pytest_devperf.errors import TargetError, Unsupported, UsageError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.app.collector import Collector
from pytest_devperf.targets.app.launch import AppCommand, build_app
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device, hash_unit
from pytest_devperf.targets.protocol import Clock, Runner

if TYPE_CHECKING:
    from pytest_devperf.targets.app.wire import CaseReport, Task

ADDRESS_VARIABLE = "PYTEST_DEVPERF_ADDRESS"
"""Sets this machine's address in the network of the iPhone, if the machine has several."""

SOMEWHERE = ("192.0.2.1", 9)
"""An address that nobody has (RFC 5737): looking up the route to it sends nothing, and shows this machine's address."""

LIST_REMEDY = "check that `xcrun devicectl list devices` works"

LIST_S = 60.0
"""Longest wait for the list of devices: `devicectl` also looks for them in the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """A connected iPhone."""

    identifier: str
    """Identifier for `devicectl`; never stored, only shown if one of several has to be chosen."""
    model: str | None
    product: str | None
    os: str | None


class _Hardware(msgspec.Struct, frozen=True, rename="camel"):
    platform: str | None = None
    marketing_name: str | None = None
    product_type: str | None = None


class _Software(msgspec.Struct, frozen=True, rename="camel"):
    os_version_number: str | None = None
    os_build_update: str | None = None


class _Connection(msgspec.Struct, frozen=True, rename="camel"):
    tunnel_state: str | None = None


class _Listed(
    msgspec.Struct,
    frozen=True,
    rename={"hardware": "hardwareProperties", "software": "deviceProperties", "connection": "connectionProperties"},
):
    identifier: str
    hardware: _Hardware = _Hardware()
    software: _Software = _Software()
    connection: _Connection = _Connection()


class _Devices(msgspec.Struct, frozen=True):
    devices: tuple[_Listed, ...] = ()


class _Listing(msgspec.Struct, frozen=True):
    """The output of `devicectl`, as far as it is used."""

    result: _Devices = _Devices()


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
        if app.platform not in {None, "ios"}:
            raise Unsupported(f"{app.id} is an app for {app.platform}, and {self.device.name} is an iPhone")
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


def list_connected() -> tuple[Connected, ...]:
    """List the iPhones that Xcode reports as connected.

    Raises:
        UsageError: Xcode 15 is missing, or fails.
    """
    if shutil.which("xcrun") is None:
        raise UsageError("iPhones need Xcode's devicectl", "use a Mac with Xcode 15 or later")
    with tempfile.TemporaryDirectory(prefix="devperf-ios-") as folder:
        path = Path(folder, "devices.json")
        words = ""
        try:
            done = subprocess.run(
                ["xcrun", "devicectl", "list", "devices", "--json-output", str(path)],  # noqa: S607 - Xcode's own place
                capture_output=True,
                text=True,
                timeout=LIST_S,
                check=False,
            )
            words = " ".join(done.stderr.split())[-200:]
            if done.returncode == 0:
                return parse_devices(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"devicectl does not list devices ({words or error})", LIST_REMEDY) from error
    raise UsageError(f"devicectl does not list devices ({words or f'exit code {done.returncode}'})", LIST_REMEDY)


def parse_devices(text: str) -> tuple[Connected, ...]:
    """Parse the output of `devicectl list devices --json-output`: connected iPhones and iPads.

    Raises:
        ValueError: The text is something else.

    Source:
        `devicectl help list devices`, which guarantees the JSON output to scripts.
    """
    try:
        listing = msgspec.json.decode(text, type=_Listing)
    except (UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"no listing of devices: {error}") from error
    return tuple(
        Connected(
            identifier=each.identifier,
            model=each.hardware.marketing_name,
            product=each.hardware.product_type,
            os=_os(each.software),
        )
        for each in listing.result.devices
        if each.hardware.platform == "iOS" and each.connection.tunnel_state != "unavailable"
    )


def launch_command(app: str, identifier: str, environment: dict[str, str]) -> tuple[str, ...]:
    """Return the command that starts an app with variables and ends a running instance."""
    words = ("xcrun", "devicectl", "device", "process", "launch", "--terminate-existing", "--device", identifier)
    return (*words, "--environment-variables", json.dumps(environment), app)


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


def _os(software: _Software) -> str | None:
    if not software.os_version_number:
        return None
    build = f" ({software.os_build_update})" if software.os_build_update else ""
    return f"iOS {software.os_version_number}{build}"
