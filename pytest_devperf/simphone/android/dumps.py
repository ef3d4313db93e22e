"""Format the state as the text that a phone of each family prints. All numbers come from the state."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_devperf.simphone.state.personality import Personality, Sensor, ThermalForm, host_abi
from pytest_devperf.simphone.state.physics import FULL_PERCENT, SEVERITIES, State, caps_khz, clocks_khz

SKIN = 3


def format_thermalservice(person: Personality, state: State) -> str:
    """Format the output of `dumpsys thermalservice`."""
    form = person.thermal
    if form is None:
        return "Can't find service: thermalservice\n"
    shown = state.status if state.status_override is None else state.status_override
    lines = []
    if form.override_line:
        lines.append(f"IsStatusOverride: {_java(state.status_override is not None)}")
    if form.listeners:
        lines += _listeners("ThermalEventListeners", 4) + _listeners("ThermalStatusListeners", 2)
    lines.append(f"Thermal Status: {shown if form.ready else 0}")
    lines.append("Cached temperatures:")
    lines += [_temperature(form, sensor, person, state, form.cached_off_c) for sensor in reversed(person.sensors)]
    lines.append(f"HAL Ready: {_java(form.ready)}")
    if form.ready:
        lines += ["HAL connection:", f"\t{form.connection}", "Current temperatures from HAL:"]
        lines += [_temperature(form, sensor, person, state, 0.0) for sensor in person.sensors]
        lines += ["Current cooling devices from HAL:", *_cooling(person, state)]
        lines += _thresholds(person, form)
        if form.headroom:
            lines += ["Temperature headroom thresholds:", "\t[NaN, 0.8666667, 0.93333334, 1.0, NaN, NaN, NaN]"]
    return "\n".join(lines) + "\n"


def _listeners(title: str, callbacks: int) -> list[str]:
    return [f"{title}:", f"\tcallbacks: {callbacks}", "\tkilled: false", "\tbroadcasts count: -1"]


def _temperature(form: ThermalForm, sensor: Sensor, person: Personality, state: State, off_c: float) -> str:
    value = sensor.value(state, person.body.ambient_c)
    if sensor.source != "fixed":
        value += off_c
    status = state.status if sensor.kind == SKIN else 0
    text = f"{round(value, 3)!r}"
    return f"{form.indent}Temperature{{mValue={text}, mType={sensor.kind}, mName={sensor.name}, mStatus={status}}}"


def _cooling(person: Personality, state: State) -> list[str]:
    return [
        f"\tCoolingDevice{{mValue={max(c.resting, c.steps * state.status // (SEVERITIES - 1))}"
        f", mType={c.kind}, mName={c.name}}}"
        for c in person.cooling
    ]


def _thresholds(person: Personality, form: ThermalForm) -> list[str]:
    if form.thresholds == "none":
        return []
    numbers = ", ".join(["NaN", *map(str, person.body.skin_limits_c)])
    nothing = ", ".join(["NaN"] * SEVERITIES)
    lines = ["Temperature static thresholds from HAL:"]
    for sensor in (s for s in person.sensors if s.kind == SKIN):
        if form.thresholds == "aidl":
            lines.append(
                f"\tTemperatureThreshold{{mType={sensor.kind}, mName={sensor.name}, "
                f"mHotThrottlingThresholds=[{numbers}], mColdThrottlingThresholds=[{nothing}]}}"
            )
        else:
            lines.append(
                f"\t{{.type = SKIN, .name = {sensor.name}, .hotThrottlingThresholds = [{numbers}], "
                f".coldThrottlingThresholds = [{nothing}], .vrThrottlingThreshold = NaN}}"
            )
    return lines


def format_battery(person: Personality, state: State) -> str:
    """Format the output of `dumpsys battery`."""
    form = person.battery
    shown_c = state.shown_battery_c if state.faked_battery_c is None else state.faked_battery_c
    powered = "AC" if person.emulator else "USB"
    lines = ["Current Battery Service state:"]
    if state.updates_stopped:
        lines.append("  (UPDATES STOPPED -- use 'reset' to restart)")
    level = round(state.level_percent)
    # BatteryManager's numbers: full, charging, discharging
    charging = 5 if state.level_percent >= FULL_PERCENT else 2 if state.plugged else 3
    fields = [f"{name} powered: {_java(state.plugged and name == powered)}" for name in form.sources]
    fields += [
        "Max charging current: 500000",
        "Max charging voltage: 5000000",
        f"Charge counter: {round(state.level_percent * 41_000)}",
        f"status: {charging}",
        "health: 2",
        "present: true",
        f"level: {level}",
        "scale: 100",
        f"voltage: {3600 + level * 6}",
        f"temperature: {round(shown_c * 10)}",
        "technology: Li-ion",
        *form.extra,
    ]
    lines += [form.indent + line for line in fields]
    return form.newline.join(lines) + form.newline


def format_power(state: State) -> str:
    """Format the output of `dumpsys power`, limited to what is parsed; the second `mWakefulness` is a number."""
    awake = state.screen_on
    return "\n".join(
        [
            "POWER MANAGER (dumpsys power)",
            "",
            "Power Manager State:",
            f"  mWakefulness={'Awake' if awake else 'Dozing'}",
            "  mWakefulnessChanging=false",
            f"  mIsPowered={_java(state.plugged)}",
            f"  mPlugType={2 if state.plugged else 0}",
            f"  mBatteryLevel={round(state.level_percent)}",
            "  mDeviceIdleMode=false",
            f"  mStayOn={_java(stays_on(state))}",
            "",
            "Display Group User Activity:",
            f"  mWakefulness={1 if awake else 3}",
            "",
            "Battery saver state machine:",
            f"    mSettingBatterySaverEnabled={_java(state.battery_saver)}",
            "",
        ]
    )


def stays_on(state: State) -> bool:
    """Return whether the screen stays on because the cable is connected."""
    request = state.settings.get("global/stay_on_while_plugged_in", "0")
    return state.plugged and request not in {"", "0", "null"}


def format_meminfo(person: Personality, pid: int, pss_kib: int, rss_kib: int, swap_kib: int) -> str:
    """Format the output of `dumpsys meminfo PID` for a process that is not an app: the table and its total."""
    new = person.sdk >= 30  # noqa: PLR2004 - Android 11 added the second line of totals
    lines = [
        "Applications Memory Usage (in Kilobytes):",
        "Uptime: 912455 Realtime: 1530011",
        "",
        f"** MEMINFO in pid {pid} [native] **",
        "                   Pss  Private  Private  SwapPss      Rss"
        if new
        else "                   Pss  Private  Private  SwapPss",
        "                 Total    Dirty    Clean    Dirty",
        "                ------   ------   ------   ------",
        f"  Native Heap   {pss_kib:6d}   {pss_kib:6d}        0   {swap_kib:6d}",
        f"        TOTAL   {pss_kib:6d}   {pss_kib:6d}        0   {swap_kib:6d}",
    ]
    if new:
        total = f"           TOTAL PSS: {pss_kib:8d}            TOTAL RSS: {rss_kib:8d}"
        lines += ["", f"{total}      TOTAL SWAP PSS: {swap_kib:8d}"]
    return "\n".join(lines) + "\n"


def properties(person: Personality, state: State, serial: str) -> Mapping[str, str]:
    """Return the properties that `getprop` knows, by key."""
    abi = host_abi()
    facts = {
        "gsm.operator.alpha": "",
        "ro.board.platform": person.board,
        "ro.boot.serialno": serial,
        "ro.build.fingerprint": ("generic/sdk/" if person.emulator else "") + person.fingerprint,
        "ro.build.id": person.build,
        "ro.build.type": "user",
        "ro.build.version.release": person.release,
        "ro.build.version.sdk": str(person.sdk),
        "ro.debuggable": "0",
        # A simulated phone identifies itself as such, whatever its family.
        "ro.devperf.simulated": person.name,
        "ro.hardware": "ranchu" if person.emulator else person.board,
        "ro.product.board": person.codename,
        "ro.product.brand": person.manufacturer.lower(),
        "ro.product.cpu.abi": abi,
        "ro.product.cpu.abilist": abi,
        "ro.product.device": person.codename,
        "ro.product.manufacturer": person.manufacturer,
        "ro.product.model": person.model,
        "ro.product.name": person.codename,
        "ro.serialno": serial,
        "sys.boot_completed": "1",
        "persist.sys.locale.note": "first line\nsecond line",
    }
    if person.sdk >= 31:  # noqa: PLR2004 - Android 12 added these two
        facts |= {"ro.soc.manufacturer": person.soc_maker, "ro.soc.model": person.soc}
    else:
        facts["ro.hardware.chipname"] = person.soc
    if person.emulator:
        facts["ro.kernel.qemu"] = "1"
    written = {key.removeprefix("property/"): v for key, v in state.settings.items() if key.startswith("property/")}
    return facts | written


def format_getprop(facts: Mapping[str, str]) -> str:
    """Format the output of `getprop` without arguments."""
    return "".join(f"[{key}]: [{facts[key]}]\n" for key in sorted(facts))


def format_df(free_kib: int, total_kib: int) -> str:
    """Format the output of `df -k /data`."""
    used_kib = total_kib - free_kib
    percent = round(100 * used_kib / total_kib)
    head = "Filesystem       1K-blocks     Used Available Use% Mounted on"
    return f"{head}\n/dev/block/dm-44 {total_kib:9d} {used_kib:8d} {free_kib:9d} {percent:3d}% /data\n"


def sys_files(person: Personality, state: State) -> dict[str, str]:
    """Return the files under `/sys` and `/proc` that the phone shows: path -> text."""
    files: dict[str, str] = {}
    cpu = "sys/devices/system/cpu"
    body = person.body
    for name in ("present", "possible", "online"):
        files[f"{cpu}/{name}"] = f"0-{body.cores - 1}\n"
    pairs = zip(body.clusters, caps_khz(state, body), clocks_khz(state, body), strict=True)
    for cluster, cap_khz, clock_khz in pairs if person.cpufreq else ():
        lowest_khz = cluster.steps_khz[0]
        shown = {
            "scaling_cur_freq": clock_khz,
            "scaling_min_freq": cap_khz if state.pinned else lowest_khz,
            "scaling_max_freq": cap_khz,
            "scaling_governor": person.governor,
            "cpuinfo_min_freq": lowest_khz,
            "cpuinfo_max_freq": cluster.steps_khz[-1],
            "related_cpus": " ".join(map(str, cluster.cpus)),
            "affected_cpus": " ".join(map(str, cluster.cpus)),
            "scaling_available_frequencies": " ".join(map(str, cluster.steps_khz)),
        }
        for name, value in shown.items():
            files[f"{cpu}/cpufreq/{cluster.policy}/{name}"] = f"{value}\n"
    for index, zone in enumerate(person.zones):
        value = zone.sensor.value(state, body.ambient_c) * zone.scale
        files[f"sys/class/thermal/thermal_zone{index}/type"] = f"{zone.sensor.name}\n"
        files[f"sys/class/thermal/thermal_zone{index}/temp"] = f"{round(value)}\n"
    for index, cooling in enumerate(person.cooling):
        value = max(cooling.resting, cooling.steps * state.status // (SEVERITIES - 1))
        files[f"sys/class/thermal/cooling_device{index}/type"] = f"{cooling.name}\n"
        files[f"sys/class/thermal/cooling_device{index}/cur_state"] = f"{value}\n"
        files[f"sys/class/thermal/cooling_device{index}/max_state"] = f"{max(cooling.steps, cooling.resting)}\n"
    return files | _proc_files(person, state)


def _proc_files(person: Personality, state: State) -> dict[str, str]:
    """Return the files of `/proc` that describe the machine; those of processes are real."""
    cores = person.body.cores
    busy, idle = round(state.busy_s * 100), round((state.at_s * cores - state.busy_s) * 100)
    per_core = [f"cpu{n} {busy // cores} 0 0 {max(0, idle) // cores} 0 0 0 0 0 0" for n in range(cores)]
    free_kib = person.memory_kib * 2 // 5
    return {
        "proc/meminfo": f"MemTotal:       {person.memory_kib:8d} kB\nMemFree:        {free_kib // 4:8d} kB\n"
        f"MemAvailable:   {free_kib:8d} kB\nSwapTotal:       2097148 kB\nSwapFree:        1900000 kB\n",
        "proc/cpuinfo": "".join(f"processor\t: {n}\nBogoMIPS\t: 38.40\n\n" for n in range(cores))
        + f"Hardware\t: {person.soc_maker}, {person.soc}\n",
        "proc/stat": "\n".join([f"cpu  {busy} 0 0 {max(0, idle)} 0 0 0 0 0 0", *per_core, "ctxt 1", ""]),
        "proc/loadavg": f"{state.load_cores:.2f} {state.load_cores:.2f} 0.40 1/900 4242\n",
        "proc/uptime": f"{state.at_s:.2f} {state.at_s * cores * 0.9:.2f}\n",
        "proc/version": f"Linux version 5.10.{person.sdk}-android (simulated)\n",
    }


def _java(truth: bool) -> str:  # noqa: FBT001 - the value to format
    return "true" if truth else "false"
