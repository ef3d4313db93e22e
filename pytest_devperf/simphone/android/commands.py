"""Android's own commands: their output and their effects.

A pure table of functions: arguments and state in, output and changed fields of the state out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_devperf.simphone.android import activity, dumps
from pytest_devperf.simphone.android.request import FAILED, Request, Response
from pytest_devperf.simphone.state.mishap import SLIPS_AFTER_S, Pinning


def respond(name: str, request: Request) -> Response:
    """Run a command by its name."""
    command = COMMANDS.get(name)
    if command is None:
        return Response(err=f"{name}: inaccessible or not found\n", code=127)
    return command(request)


def _dumpsys(request: Request) -> Response:
    service, rest = (request.words[0], request.words[1:]) if request.words else ("", ())
    if service == "battery" and rest:
        return _battery_service(request.shifted())
    printers: dict[str, Callable[[], str]] = {
        "thermalservice": lambda: dumps.format_thermalservice(request.person, request.state),
        "battery": lambda: dumps.format_battery(request.person, request.state),
        "power": lambda: dumps.format_power(request.state),
        "meminfo": lambda: _meminfo(request, rest),
        "deviceidle": lambda: "  mState=ACTIVE\n  mDeepEnabled=true\n",
    }
    printer = printers.get(service)
    # The return code is 0 either way: only the text shows that a service is missing.
    return Response(out=printer() if printer else f"Can't find service: {service}\n")


def _meminfo(request: Request, rest: Sequence[str]) -> str:
    word = next((word for word in rest if not word.startswith("-")), "")
    sizes = request.memory(int(word)) if word.isdigit() else None
    if sizes is None:
        return f"No process found for: {word}\n"
    return dumps.format_meminfo(request.person, int(word), *sizes)


def _battery_service(request: Request) -> Response:
    """`dumpsys battery VERB` and `cmd battery VERB`: change the reported values, not the real current."""
    words = [word for word in request.words if word != "-f"]
    if words == ["unplug"]:
        return Response(change={"updates_stopped": True, "plugged": False})
    if words == ["reset"]:
        return Response(change={"updates_stopped": False, "plugged": True, "faked_battery_c": None})
    if words[:2] == ["set", "temp"] and len(words) == 3:  # noqa: PLR2004 - the verb, the key and its value
        return Response(change={"updates_stopped": True, "faked_battery_c": int(words[2]) / 10})
    if words[:2] == ["set", "level"] and len(words) == 3:  # noqa: PLR2004 - the verb, the key and its value
        return Response(change={"updates_stopped": True, "level_percent": float(words[2])})
    return Response(out="Battery service (battery) commands:\n  set|unplug|reset\n", code=FAILED)


def _cmd(request: Request) -> Response:
    service = request.words[0] if request.words else ""
    services = {
        "battery": _battery_service,
        "power": _power_service,
        "thermalservice": _thermal_service,
        "package": activity.package,
        "settings": _settings,
    }
    if service in services and not (service == "thermalservice" and request.person.thermal is None):
        return services[service](request.shifted())
    return Response(err=f"cmd: Can't find service: {service}\n", code=20)


def _power_service(request: Request) -> Response:
    words = request.words
    if words[:1] != ("set-fixed-performance-mode-enabled",) or not request.person.fixed_performance:
        return Response(out="Power manager (power) commands:\n  help\n    Print this help text.\n", code=FAILED)
    if request.mishap.pinning == "refused" or request.person.emulator:
        return Response(
            err="Failed to set FIXED_PERFORMANCE mode\nThe Power HAL of this device does not offer it\n", code=FAILED
        )
    return _pin_clocks(request) if words[1:2] == ("true",) else _unpin_clocks(request)


def _pin_clocks(request: Request) -> Response:
    """Enter fixed-performance mode, subject to the mishap; nothing is printed either way."""
    changes: Mapping[Pinning, Mapping[str, Any]] = {
        "works": {"pinned": True},
        "slips": {"pinned": True, "pinned_until_s": request.state.at_s + SLIPS_AFTER_S},
        "lifts a cap": {"vendor_cap": None},
    }
    return Response(change=changes.get(request.mishap.pinning, {}))


def _unpin_clocks(request: Request) -> Response:
    """Leave fixed-performance mode."""
    if request.mishap.restoring == "refused":
        return Response(err="Failed to reset FIXED_PERFORMANCE mode\nThe Power HAL did not answer\n", code=FAILED)
    return Response(change={} if request.mishap.restoring == "ignored" else {"pinned": False, "pinned_until_s": None})


def _thermal_service(request: Request) -> Response:
    words = request.words
    if words[:1] == ("override-status",) and len(words) > 1 and words[1].isdigit():
        return Response(change={"status_override": int(words[1])})
    if words == ("reset",):
        return Response(change={"status_override": None})
    return Response(out="Thermal service commands:\n  override-status STATUS\n  reset\n", code=FAILED)


def _getprop(request: Request) -> Response:
    facts = dumps.properties(request.person, request.state, request.serial)
    if not request.words:
        return Response(out=dumps.format_getprop(facts))
    standard = request.words[1] if len(request.words) > 1 else ""
    return Response(out=f"{facts.get(request.words[0], standard)}\n")


def _setprop(request: Request) -> Response:
    key, value = (*request.words, "", "")[:2]
    if key.startswith("ro."):
        return Response(err=f"Failed to set property '{key}' to '{value}'.\nSee dmesg for error reason.\n", code=1)
    return Response(change={"settings": {**request.state.settings, f"property/{key}": value}})


def _settings(request: Request) -> Response:
    verb, space, key, value = (*request.words, "", "", "", "")[:4]
    full = f"{space}/{key}"
    if verb == "get":
        return Response(out=f"{request.state.settings.get(full, 'null')}\n")
    if full == _STAY_ON_KEY and request.mishap.restoring != "works":
        return _stay_on_not_restored(request)
    if verb == "put":
        return _written(request, full, value)
    if verb == "delete":
        left = {name: text for name, text in request.state.settings.items() if name != full}
        return Response(out=f"Deleted {len(request.state.settings) - len(left)} rows\n", change={"settings": left})
    if verb == "list":
        mine = {k.partition("/")[2]: v for k, v in request.state.settings.items() if k.startswith(f"{space}/")}
        return Response(out="".join(f"{name}={mine[name]}\n" for name in sorted(mine)))
    return Response(err=f"Invalid command: {verb}\n", code=FAILED)


def _written(request: Request, key: str, value: str) -> Response:
    change: dict[str, Any] = {"settings": {**request.state.settings, key: value}}
    if key == "global/low_power":
        change["battery_saver"] = value == "1"
    return Response(change=change)


_STAY_ON_KEY = "global/stay_on_while_plugged_in"
_STAY_ON = {"true": "15", "false": "0", "ac": "1", "usb": "2", "wireless": "4", "dock": "8"}
"""What `svc power stayon` writes: bits of BatteryManager's kinds of power."""


def _stay_on_not_restored(request: Request) -> Response:
    if request.mishap.restoring == "refused":
        return Response(err="java.lang.SecurityException: Permission denial: writing to settings\n", code=FAILED)
    return Response()


def _svc(request: Request) -> Response:
    if request.words[:2] == ("power", "stayon") and len(request.words) > 2:  # noqa: PLR2004 - and its argument
        value = _STAY_ON.get(request.words[2])
        if value == "0" and request.mishap.restoring != "works":
            return _stay_on_not_restored(request)
        if value is not None:
            answered = _written(request, _STAY_ON_KEY, value)
            lit = {"screen_on": True} if value != "0" and request.state.plugged else {}
            return Response(change={**answered.change, **lit})
    return Response(out="Available commands:\n    power\n", code=1)


def _input(request: Request) -> Response:
    keys = {"KEYCODE_WAKEUP": True, "224": True, "KEYCODE_SLEEP": False, "223": False}
    if request.words[:1] == ("keyevent",) and len(request.words) > 1 and request.words[1] in keys:
        return Response(change={"screen_on": keys[request.words[1]]})
    return Response()


def _df(request: Request) -> Response:
    total = request.person.storage_kib
    free = 0 if request.mishap.disk_full else total - request.used_kib - total // 3
    return Response(out=dumps.format_df(min(free, free if request.free_kib is None else request.free_kib), total))


def _id(request: Request) -> Response:
    """Print user and group; both have the same name and number."""
    letters = {letter for word in request.words if word.startswith("-") for letter in word[1:]}
    if letters & {"u", "g", "G"}:
        return Response(out="shell\n" if "n" in letters else "2000\n")
    return Response(out="uid=2000(shell) gid=2000(shell) groups=2000(shell) context=u:r:shell:s0\n")


def _run_as(request: Request) -> Response:
    """Refuse to switch to an app's user: apps on a user's phone are not debuggable."""
    app = request.words[0] if request.words else ""
    words = f"package not debuggable: {app}" if app in request.apps else f"unknown package: {app}"
    return Response(err=f"run-as: {words}\n", code=1)


COMMANDS: Mapping[str, Callable[[Request], Response]] = {
    "am": activity.am,
    "cmd": _cmd,
    "df": _df,
    "dumpsys": _dumpsys,
    "getprop": _getprop,
    "id": _id,
    "input": _input,
    "log": activity.log,
    "logcat": activity.logcat,
    "monkey": activity.monkey,
    "nproc": lambda request: Response(out=f"{request.person.body.cores}\n"),
    "package": activity.package,
    "pidof": activity.pidof,
    "pm": activity.package,
    "run-as": _run_as,
    "setprop": _setprop,
    "settings": _settings,
    "svc": _svc,
    "whoami": lambda _asked: Response(out="shell\n"),
    "wm": lambda _asked: Response(),
}
"""Every command that the phone implements itself; all others are programs of this machine."""
