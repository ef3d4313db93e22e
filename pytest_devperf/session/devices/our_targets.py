"""The targets included in the plugin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.session.devices.targets import AUTO, SIM, SessionTargets
from pytest_devperf.targets.device import HOST

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.session.launch.relocation import Relocation
    from pytest_devperf.targets.android.options import PhoneOptions
    from pytest_devperf.targets.android.target import AndroidTarget
    from pytest_devperf.targets.protocol import Target

ANDROID = "android"
IOS = "ios"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions:
    """The options of a session for its devices."""

    identity: str | None = None
    pin_clocks: str = "auto"
    affinity: str | None = None
    runner: str | None = None
    runtime_library: str | None = None
    relocation: Relocation | None = None
    """The folder of the files that workloads name; None: as the test names them."""


def open_target(spec: str, targets: SessionTargets, options: TargetOptions) -> Target | None:
    """Open the target of a spec; None if it is not one of ours.

    Raises:
        DevperfError: The phone is missing, cannot be used, or there are several.
    """
    kind = spec.partition(":")[0]
    if kind == HOST:
        return _open_host(targets, options)
    if kind == SIM:
        return _simulated(targets, options)
    if kind == ANDROID:
        return _android(spec, targets, options)
    if kind == IOS:
        from pytest_devperf.targets.ios.phone import open_iphone

        return open_iphone(spec, clock=targets.clock, identity=options.identity or "unit")
    return _attached(targets, options) if kind == AUTO else None


def _open_host(targets: SessionTargets, options: TargetOptions) -> Target:
    """Open this machine."""
    from pytest_devperf.targets.host.identity import read_device
    from pytest_devperf.targets.host.target import HostTarget

    device, cpus = read_device(options.identity or "model"), options.affinity
    relocate = options.relocation.of if options.relocation is not None else None
    if cpus is None:
        return HostTarget(device=device, clock=targets.clock, look=targets.look, relocate=relocate)
    from pytest_devperf.targets.host.affinity import pin_to_cpus

    targets.at_end(pin_to_cpus(cpus))

    def look() -> Context:
        seen = targets.look()
        return replace(seen, env={**seen.env, "affinity": cpus})

    return HostTarget(device=device, clock=targets.clock, look=look, relocate=relocate)


def _of_phone(options: TargetOptions) -> PhoneOptions:
    from pytest_devperf.targets.android.options import PhoneOptions

    return PhoneOptions(
        identity=options.identity or "unit",
        pin_clocks=options.pin_clocks,
        affinity=options.affinity,
        runner=Path(options.runner) if options.runner else None,
        library=Path(options.runtime_library) if options.runtime_library else None,
    )


def _simulated(targets: SessionTargets, options: TargetOptions) -> AndroidTarget | None:
    from pytest_devperf.targets.android.adb.attached import choose, list_attached
    from pytest_devperf.targets.android.adb.client import make_client
    from pytest_devperf.targets.android.target import AndroidTarget

    phone = targets.simulated
    if phone is None:
        return None
    choose(list_attached(make_client(phone.server_port)), phone.serial)  # refuses a phone that cannot be used
    return AndroidTarget(
        serial=phone.serial, server_port=phone.server_port, clock=targets.clock, options=_of_phone(options)
    )


def _android(spec: str, targets: SessionTargets, options: TargetOptions) -> AndroidTarget | None:
    from pytest_devperf.targets.android.open import open_target as open_android

    target = _shared(targets, open_android(spec, clock=targets.clock, options=_of_phone(options)))
    if target is not None and not target.toolchain.runs_models():
        targets.note(_not_set_up(target, "model cases are skipped"))
    return target


def _attached(targets: SessionTargets, options: TargetOptions) -> AndroidTarget | None:
    """Open the phone that `auto` uses: attached, real and set up; otherwise the header shows what is used instead."""
    from pytest_devperf.targets.android.open import NoUsablePhone
    from pytest_devperf.targets.android.open import open_target as open_android

    try:
        target = _shared(targets, open_android(AUTO, clock=targets.clock, options=_of_phone(options)))
    except NoUsablePhone as obstacle:
        targets.note(f"model and command cases run on this machine: {obstacle}")
        return None
    if target is not None and not target.toolchain.runs_models():
        targets.note(_not_set_up(target, "model and command cases run on this machine"))
        return None
    return target


def _shared(targets: SessionTargets, target: AndroidTarget | None) -> AndroidTarget | None:
    """Take the target of a phone that the session uses already, under whichever name: a phone is claimed once."""
    if target is None:
        return None
    from pytest_devperf.targets.android.target import AndroidTarget

    known = (each for each in targets.opened if isinstance(each, AndroidTarget))
    return next((each for each in known if each.link.serial == target.link.serial), target)


def _not_set_up(target: AndroidTarget, consequence: str) -> str:
    return (
        f"{target.device.name} is attached but not set up, so {consequence}: "
        "run devperf setup-android --library FILE (or --aar FILE) once"
    )
