"""Phones for several workers, one each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_devperf.errors import UsageError
from pytest_devperf.session.devices.targets import SIM
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.targets.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone:
    """A phone that one worker measures on."""

    spec: str
    """The target of the worker."""
    unit: int
    """Number of the simulated unit; 1 for a real phone."""
    device: Device
    warning: str | None = None
    """A notice for the user about a simulated phone."""


def find_phones(settings: Settings, workers: int) -> Sequence[Phone]:
    """Find one phone per worker, in the order in which adb lists them.

    Raises:
        DevperfError: There are fewer phones than workers, or one cannot be used.
    """
    if settings.target.partition(":")[0] == SIM:
        return list(_simulated(settings, workers))
    return _attached(settings, workers)


def _attached(settings: Settings, workers: int) -> list[Phone]:
    """Choose real phones: those that adb lists and that can be used."""
    from pytest_devperf.targets.android.adb.attached import list_attached, serial_of_environment
    from pytest_devperf.targets.android.adb.client import make_client
    from pytest_devperf.targets.android.options import PhoneOptions
    from pytest_devperf.targets.android.target import AndroidTarget

    serial = settings.target.partition(":")[2] or serial_of_environment()
    attached = list_attached(make_client(None))
    ready = [phone for phone in attached if phone.ready and (not serial or phone.serial == serial)]
    ready = [phone for phone in ready if not phone.emulator] or ready
    if len(ready) < workers:
        there = ", ".join(phone.words for phone in attached) or "none"
        raise UsageError(
            f"-n{workers} needs one phone per worker, and {len(ready)} can be used (attached: {there})",
            f"measure with -n{len(ready)}" if ready else "attach phones, and check that `adb devices` lists them",
        )
    options = PhoneOptions(identity=settings.identity or "unit")
    return [
        Phone(spec=f"android:{each.serial}", unit=1, device=AndroidTarget(serial=each.serial, options=options).device)
        for each in ready[:workers]
    ]


def _simulated(settings: Settings, workers: int) -> Iterator[Phone]:
    """Describe the simulated phones: each worker switches on its own unit of the family."""
    from pytest_devperf.simphone import AdbServer, parse_spec, simulated_phone
    from pytest_devperf.targets.android.options import PhoneOptions
    from pytest_devperf.targets.android.target import AndroidTarget

    personality, _ = parse_spec(settings.target)
    options = PhoneOptions(identity=settings.identity or "unit")
    with AdbServer() as server:
        for unit in range(1, workers + 1):
            with simulated_phone(personality, unit=unit, server=server) as phone:
                target = AndroidTarget(serial=phone.serial, server_port=phone.server_port, options=options)
                yield Phone(spec=settings.target, unit=unit, device=target.device, warning=phone.warning)
