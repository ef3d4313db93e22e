"""Each family prints its own format, with the numbers of the state."""

from __future__ import annotations

import re

import pytest

from pytest_devperf.simphone import PERSONALITIES, SimPhone
from pytest_devperf.simphone.state.personality import host_abi
from pytest_devperf.simphone.state.physics import advance, caps_khz

SCRIPT = (
    "echo @@thermal; dumpsys thermalservice; echo @@battery; dumpsys battery; echo @@power; dumpsys power;"
    "echo @@prop; getprop; echo @@freq; cat /sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq 2>/dev/null;"
    "echo @@zone; cat /sys/class/thermal/thermal_zone*/temp 2>/dev/null; echo @@END"
)


@pytest.fixture(params=sorted(PERSONALITIES))
def looked(request, switch_on, open_device) -> tuple[SimPhone, dict[str, str]]:
    phone = switch_on(request.param)
    text = open_device(phone).shell(SCRIPT)
    parts = dict(re.findall(r"@@(\w+)\r?\n(.*?)(?=@@)", text, re.DOTALL))
    assert "@@END" in text
    return phone, parts


def test_every_family_reports_its_identity_and_temperature(looked):
    phone, parts = looked
    person = phone.personality

    assert f"[ro.product.model]: [{person.model}]" in parts["prop"]
    assert f"[ro.devperf.simulated]: [{person.name}]" in parts["prop"]
    assert f"[ro.product.cpu.abi]: [{host_abi()}]" in parts["prop"]
    assert "mWakefulness=Awake" in parts["power"]
    shown = int(re.search(r"^\s*temperature: (\d+)\r?$", parts["battery"], re.MULTILINE).group(1))
    assert abs(shown / 10 - phone.state.shown_battery_c) < 0.2
    assert len(parts["freq"].split()) == (len(person.body.clusters) if person.cpufreq else 0)
    assert len(parts["zone"].split()) == len(person.zones)


def test_every_family_has_a_thermal_service_or_reports_that_it_is_missing(looked):
    phone, parts = looked
    form = phone.personality.thermal

    if form is None:
        assert parts["thermal"].startswith("Can't find service: thermalservice")
        return
    assert "Thermal Status: 0" in parts["thermal"]
    assert f"HAL Ready: {'true' if form.ready else 'false'}" in parts["thermal"]
    assert ("Current temperatures from HAL:" in parts["thermal"]) == form.ready


def test_old_samsung_shifts_its_types(switch_on, open_device):
    text = open_device(switch_on("samsung-old")).shell("dumpsys thermalservice")

    assert re.search(r"mType=4, mName=TYPE_SKIN", text)
    assert "mValue=-99.9, mType=6, mName=TYPE_POWER_AMPLIFIER" in text
    assert "Sdhms connected: yes" in text


def test_android9_has_no_shell_protocol_and_no_pinning(switch_on, open_device):
    phone = switch_on("android9")
    device = open_device(phone)

    assert "shell_v2" not in device.get_features()
    assert "help" in device.shell("cmd power set-fixed-performance-mode-enabled true")
    assert device.shell("echo $?; exit 3") == "0"


def test_the_silent_cap_of_samsung_shows_only_in_the_clock(switch_on, open_device):
    phone = switch_on("samsung-new")
    device = open_device(phone)
    look = "cat /sys/devices/system/cpu/cpufreq/policy4/scaling_max_freq; dumpsys thermalservice | grep Status:"

    cool = device.shell(look).split()
    phone.advance(600, load_cores=8)
    hot = device.shell(look).split()

    assert int(hot[0]) < int(cool[0])
    assert cool[1:] == hot[1:] == ["Thermal", "Status:", "0"]


def test_xiaomis_idle_cap_is_lifted_by_work(switch_on, open_device):
    phone = switch_on("xiaomi-hyperos")
    folder = "/sys/devices/system/cpu/cpufreq/policy4"
    idle_khz, highest_khz = map(
        int, open_device(phone).shell(f"cat {folder}/scaling_max_freq {folder}/cpuinfo_max_freq").split()
    )

    working = advance(phone.state, phone.personality.body, 1.0, 4.0)

    assert idle_khz < highest_khz == caps_khz(working, phone.personality.body)[-1]


def test_an_unknown_family_is_refused_with_the_list_of_those_there_are():
    with pytest.raises(Exception, match=r"choose one of .*pixel-tensor"):
        SimPhone(personality="nokia")
