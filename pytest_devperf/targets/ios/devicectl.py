"""Ask Xcode's `devicectl` for the connected iPhones, and start apps with it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_devperf.errors import UsageError

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


def _os(software: _Software) -> str | None:
    if not software.os_version_number:
        return None
    build = f" ({software.os_build_update})" if software.os_build_update else ""
    return f"iOS {software.os_version_number}{build}"
