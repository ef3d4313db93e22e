"""The targets that come with the plugin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.plugin.begin import options_of, places_of
from pytest_devperf.plugin.place import AUTO, HOST, SIM, make_host

if TYPE_CHECKING:
    from pytest_devperf.plugin.chosen import Options
    from pytest_devperf.targets.android.phone import AndroidTarget
    from pytest_devperf.targets.protocol import Target

ANDROID = "android"
IOS = "ios"


def answer(config: pytest.Config, spec: str) -> Target | None:
    """Open the target that a spec means; None where it is not one of ours.

    Raises:
        UsageError: The phone is not there, cannot be used, or there are several.
    """
    kind = spec.partition(":")[0]
    if kind == HOST:
        return make_host(config, places_of(config), options_of(config))
    if kind == SIM:
        return _simulated(config)
    if kind == ANDROID:
        return _android(config, spec)
    if kind == IOS:
        from pytest_devperf.targets.ios.phone import open_iphone

        return open_iphone(spec, clock=places_of(config).clock, identity=options_of(config).identity or "unit")
    return _attached(config) if kind == AUTO else None


def _phone_options(config: pytest.Config) -> dict[str, Any]:
    """What a session's options say of a phone."""
    options: Options = options_of(config)
    plan = {**options.plan_ini, **options.plan_cli}
    return {
        "clock": places_of(config).clock,
        "identity": options.identity or "unit",
        "pin_clocks": plan.get("pin_clocks", "auto"),
        "affinity": plan.get("affinity"),
        "runner": Path(options.runner) if options.runner else None,
        "library": Path(options.runtime_library) if options.runtime_library else None,
    }


def _simulated(config: pytest.Config) -> AndroidTarget | None:
    from pytest_devperf.targets.android.adb import choose, list_attached, make_client
    from pytest_devperf.targets.android.phone import AndroidTarget

    phone = places_of(config).simulated
    if phone is None:
        return None
    choose(list_attached(make_client(phone.server_port)), phone.serial)  # says it where it may not be used
    return AndroidTarget(serial=phone.serial, server_port=phone.server_port, **_phone_options(config))


def _android(config: pytest.Config, spec: str) -> AndroidTarget | None:
    from pytest_devperf.targets.android.open import open_target

    target = _shared(config, open_target(spec, **_phone_options(config)))
    if target is not None and not target.gear.runs_models():
        places_of(config).note(_not_set_up(target, "model cases are skipped"))
    return target


def _attached(config: pytest.Config) -> AndroidTarget | None:
    """The phone that `auto` uses: attached, real and set up; without it the header says where cases go instead."""
    from pytest_devperf.targets.android.open import NoUsablePhone, open_target

    try:
        target = _shared(config, open_target(AUTO, **_phone_options(config)))
    except NoUsablePhone as obstacle:
        places_of(config).note(f"model and command cases run on this machine: {obstacle}")
        return None
    if target is not None and not target.gear.runs_models():
        places_of(config).note(_not_set_up(target, "model and command cases run on this machine"))
        return None
    return target


def _shared(config: pytest.Config, target: AndroidTarget | None) -> AndroidTarget | None:
    """Take the target of a phone that the session uses already, under whichever name: a phone is claimed once."""
    if target is None:
        return None
    from pytest_devperf.targets.android.phone import AndroidTarget

    known = (each for each in places_of(config).opened if isinstance(each, AndroidTarget))
    return next((each for each in known if each.link.serial == target.link.serial), target)


def _not_set_up(target: AndroidTarget, consequence: str) -> str:
    return (
        f"{target.device.name} is attached but not set up, so {consequence}: "
        "run devperf setup-android --library FILE (or --aar FILE) once"
    )
