"""Android's own commands: what they answer, and what they change.

A pure table of functions: words and state in, text and new fields of the state out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_devperf.simphone import activity, dumps
from pytest_devperf.simphone.asked import FAILED, Answer, Asked
from pytest_devperf.simphone.mishap import SLIPS_AFTER_S, Pinning


def answer(name: str, asked: Asked) -> Answer:
    """Answer a command by its name."""
    command = COMMANDS.get(name)
    if command is None:
        return Answer(err=f"{name}: inaccessible or not found\n", code=127)
    return command(asked)


def _dumpsys(asked: Asked) -> Answer:
    service, rest = (asked.words[0], asked.words[1:]) if asked.words else ("", ())
    if service == "battery" and rest:
        return _battery_service(asked.shifted())
    printers: dict[str, Callable[[], str]] = {
        "thermalservice": lambda: dumps.format_thermalservice(asked.person, asked.state),
        "battery": lambda: dumps.format_battery(asked.person, asked.state),
        "power": lambda: dumps.format_power(asked.state),
        "meminfo": lambda: _meminfo(asked, rest),
        "deviceidle": lambda: "  mState=ACTIVE\n  mDeepEnabled=true\n",
    }
    printer = printers.get(service)
    # The return code is 0 either way: only the text tells a missing service.
    return Answer(out=printer() if printer else f"Can't find service: {service}\n")


def _meminfo(asked: Asked, rest: Sequence[str]) -> str:
    word = next((word for word in rest if not word.startswith("-")), "")
    sizes = asked.memory(int(word)) if word.isdigit() else None
    if sizes is None:
        return f"No process found for: {word}\n"
    return dumps.format_meminfo(asked.person, int(word), *sizes)


def _battery_service(asked: Asked) -> Answer:
    """`dumpsys battery VERB` and `cmd battery VERB`: what the framework believes, not the current that flows."""
    words = [word for word in asked.words if word != "-f"]
    if words == ["unplug"]:
        return Answer(change={"updates_stopped": True, "plugged": False})
    if words == ["reset"]:
        return Answer(change={"updates_stopped": False, "plugged": True, "faked_battery_c": None})
    if words[:2] == ["set", "temp"] and len(words) == 3:  # noqa: PLR2004 - the verb, the key and its value
        return Answer(change={"updates_stopped": True, "faked_battery_c": int(words[2]) / 10})
    if words[:2] == ["set", "level"] and len(words) == 3:  # noqa: PLR2004 - the verb, the key and its value
        return Answer(change={"updates_stopped": True, "level_percent": float(words[2])})
    return Answer(out="Battery service (battery) commands:\n  set|unplug|reset\n", code=FAILED)


def _cmd(asked: Asked) -> Answer:
    service = asked.words[0] if asked.words else ""
    services = {
        "battery": _battery_service,
        "power": _power_service,
        "thermalservice": _thermal_service,
        "package": activity.package,
        "settings": _settings,
    }
    if service in services and not (service == "thermalservice" and asked.person.thermal is None):
        return services[service](asked.shifted())
    return Answer(err=f"cmd: Can't find service: {service}\n", code=20)


def _power_service(asked: Asked) -> Answer:
    words = asked.words
    if words[:1] != ("set-fixed-performance-mode-enabled",) or not asked.person.fixed_performance:
        return Answer(out="Power manager (power) commands:\n  help\n    Print this help text.\n", code=FAILED)
    if asked.mishap.pinning == "refused" or asked.person.emulator:
        return Answer(
            err="Failed to set FIXED_PERFORMANCE mode\nThe Power HAL of this device does not offer it\n", code=FAILED
        )
    return _hold(asked) if words[1:2] == ("true",) else _let_go(asked)


def _hold(asked: Asked) -> Answer:
    """Enter fixed-performance mode, or what goes wrong with it; nothing is printed either way."""
    changes: Mapping[Pinning, Mapping[str, Any]] = {
        "works": {"pinned": True},
        "slips": {"pinned": True, "pinned_until_s": asked.state.at_s + SLIPS_AFTER_S},
        "lifts a cap": {"vendor_cap": None},
    }
    return Answer(change=changes.get(asked.mishap.pinning, {}))


def _let_go(asked: Asked) -> Answer:
    """Leave fixed-performance mode."""
    if asked.mishap.restoring == "refused":
        return Answer(err="Failed to reset FIXED_PERFORMANCE mode\nThe Power HAL did not answer\n", code=FAILED)
    return Answer(change={} if asked.mishap.restoring == "ignored" else {"pinned": False, "pinned_until_s": None})


def _thermal_service(asked: Asked) -> Answer:
    words = asked.words
    if words[:1] == ("override-status",) and len(words) > 1 and words[1].isdigit():
        return Answer(change={"status_override": int(words[1])})
    if words == ("reset",):
        return Answer(change={"status_override": None})
    return Answer(out="Thermal service commands:\n  override-status STATUS\n  reset\n", code=FAILED)


def _getprop(asked: Asked) -> Answer:
    facts = dumps.properties(asked.person, asked.state, asked.serial)
    if not asked.words:
        return Answer(out=dumps.format_getprop(facts))
    standard = asked.words[1] if len(asked.words) > 1 else ""
    return Answer(out=f"{facts.get(asked.words[0], standard)}\n")


def _setprop(asked: Asked) -> Answer:
    key, value = (*asked.words, "", "")[:2]
    if key.startswith("ro."):
        return Answer(err=f"Failed to set property '{key}' to '{value}'.\nSee dmesg for error reason.\n", code=1)
    return Answer(change={"settings": {**asked.state.settings, f"property/{key}": value}})


def _settings(asked: Asked) -> Answer:
    verb, space, key, value = (*asked.words, "", "", "", "")[:4]
    full = f"{space}/{key}"
    if verb == "get":
        return Answer(out=f"{asked.state.settings.get(full, 'null')}\n")
    if full == _STAY_ON_KEY and asked.mishap.restoring != "works":
        return _stay_on_not_restored(asked)
    if verb == "put":
        return _written(asked, full, value)
    if verb == "delete":
        left = {name: text for name, text in asked.state.settings.items() if name != full}
        return Answer(out=f"Deleted {len(asked.state.settings) - len(left)} rows\n", change={"settings": left})
    if verb == "list":
        mine = {k.partition("/")[2]: v for k, v in asked.state.settings.items() if k.startswith(f"{space}/")}
        return Answer(out="".join(f"{name}={mine[name]}\n" for name in sorted(mine)))
    return Answer(err=f"Invalid command: {verb}\n", code=FAILED)


def _written(asked: Asked, key: str, value: str) -> Answer:
    change: dict[str, Any] = {"settings": {**asked.state.settings, key: value}}
    if key == "global/low_power":
        change["battery_saver"] = value == "1"
    return Answer(change=change)


_STAY_ON_KEY = "global/stay_on_while_plugged_in"
_STAY_ON = {"true": "15", "false": "0", "ac": "1", "usb": "2", "wireless": "4", "dock": "8"}
"""What `svc power stayon` writes: bits of BatteryManager's kinds of power."""


def _stay_on_not_restored(asked: Asked) -> Answer:
    if asked.mishap.restoring == "refused":
        return Answer(err="java.lang.SecurityException: Permission denial: writing to settings\n", code=FAILED)
    return Answer()


def _svc(asked: Asked) -> Answer:
    if asked.words[:2] == ("power", "stayon") and len(asked.words) > 2:  # noqa: PLR2004 - and its argument
        value = _STAY_ON.get(asked.words[2])
        if value == "0" and asked.mishap.restoring != "works":
            return _stay_on_not_restored(asked)
        if value is not None:
            answered = _written(asked, _STAY_ON_KEY, value)
            lit = {"screen_on": True} if value != "0" and asked.state.plugged else {}
            return Answer(change={**answered.change, **lit})
    return Answer(out="Available commands:\n    power\n", code=1)


def _input(asked: Asked) -> Answer:
    keys = {"KEYCODE_WAKEUP": True, "224": True, "KEYCODE_SLEEP": False, "223": False}
    if asked.words[:1] == ("keyevent",) and len(asked.words) > 1 and asked.words[1] in keys:
        return Answer(change={"screen_on": keys[asked.words[1]]})
    return Answer()


def _df(asked: Asked) -> Answer:
    total = asked.person.storage_kib
    free = 0 if asked.mishap.disk_full else total - asked.used_kib - total // 3
    return Answer(out=dumps.format_df(min(free, free if asked.free_kib is None else asked.free_kib), total))


def _id(asked: Asked) -> Answer:
    """Tell user and group; both have one name and one number."""
    letters = {letter for word in asked.words if word.startswith("-") for letter in word[1:]}
    if letters & {"u", "g", "G"}:
        return Answer(out="shell\n" if "n" in letters else "2000\n")
    return Answer(out="uid=2000(shell) gid=2000(shell) groups=2000(shell) context=u:r:shell:s0\n")


def _run_as(asked: Asked) -> Answer:
    """Refuse to become an app's user: no app of a user's phone is debuggable."""
    app = asked.words[0] if asked.words else ""
    words = f"package not debuggable: {app}" if app in asked.apps else f"unknown package: {app}"
    return Answer(err=f"run-as: {words}\n", code=1)


COMMANDS: Mapping[str, Callable[[Asked], Answer]] = {
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
    "nproc": lambda asked: Answer(out=f"{asked.person.body.cores}\n"),
    "package": activity.package,
    "pidof": activity.pidof,
    "pm": activity.package,
    "run-as": _run_as,
    "setprop": _setprop,
    "settings": _settings,
    "svc": _svc,
    "whoami": lambda _asked: Answer(out="shell\n"),
    "wm": lambda _asked: Answer(),
}
"""Every command the phone answers itself; all others are this machine's own."""
