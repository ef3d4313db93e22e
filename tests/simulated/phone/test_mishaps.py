"""Every mishap behaves as on a real phone."""

from __future__ import annotations

import asyncio

import adbutils
import pytest
from waiting import until

from pytest_devperf.simphone import MISHAPS, PERSONALITIES, AdbServer, SimPhone
from pytest_devperf.simphone.state.simulation import Simulation
from pytest_devperf.targets.android.phone.undo_journal import ON_PHONE, parse_changes, this_host

# adbutils leaves its socket to the garbage collector if it raises.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

LOST = (adbutils.AdbError, EOFError, OSError, ValueError)
PIN = "cmd power set-fixed-performance-mode-enabled true"
UNPIN = PIN.replace("true", "false")
STAY_ON = "stay_on_while_plugged_in"
CAPS = "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq"


def states(adb_server: AdbServer) -> dict[str, str]:
    listed = adbutils.AdbClient(host="127.0.0.1", port=adb_server.port).list()
    return {device.serial: device.state for device in listed}


def test_dies_mid_run_cuts_the_link_for_good(switch_on, open_device, adb_server):
    phone = switch_on(mishap="dies-mid-run")
    device = open_device(phone)

    with pytest.raises(LOST):
        device.shell2("echo before; sleep 30; echo after", v2=True)

    assert states(adb_server).get(phone.serial) != "device"
    assert "connected to" not in adb_server.connect(phone.address).replace("failed", "")


def test_dies_mid_run_leaves_the_old_shell_with_part_of_its_output(switch_on, open_device):
    device = open_device(switch_on(mishap="dies-mid-run"))

    assert device.shell("echo before; sleep 30; echo after") == "before"


def test_dies_mid_push(switch_on, open_device, adb_server):
    phone = switch_on(mishap="dies-mid-push")

    with pytest.raises(LOST):
        open_device(phone).sync.push(bytes(1_000_000), "/data/local/tmp/f")

    until(lambda: states(adb_server).get(phone.serial) != "device")


def test_unauthorized(switch_on, open_device, adb_server):
    phone = switch_on(mishap="unauthorized")

    until(lambda: states(adb_server).get(phone.serial) == "unauthorized")  # adb offers its keys first

    with pytest.raises(adbutils.AdbError, match="unauthorized"):
        open_device(phone).shell("echo hi")


def test_offline_and_back(switch_on, open_device, adb_server):
    phone = switch_on(mishap="offline-and-back")
    with pytest.raises(LOST):
        open_device(phone).shell2("sleep 30", v2=True)
    assert states(adb_server).get(phone.serial) != "device"

    def is_back() -> bool:
        adb_server.disconnect(phone.address)
        adb_server.connect(phone.address)
        return states(adb_server).get(phone.serial) == "device"

    until(is_back)

    assert open_device(phone).shell2("sleep 1.2; echo back", v2=True).output == "back\n"


def test_slow(switch_on, open_device, monkeypatch):
    waits_s = []
    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: waits_s.append(seconds) or sleep(0))
    device = open_device(switch_on(mishap="slow"))
    waits_s.clear()

    assert device.shell2("echo hi", v2=True).output == "hi\n"
    assert MISHAPS["slow"].latency_s in waits_s


def test_cut_output_loses_the_end_and_the_return_code(switch_on, open_device):
    device = open_device(switch_on(mishap="cut-output"))

    assert device.shell2("echo short", v2=True).output == "short\n"
    assert len(device.shell("head -c 5000 /dev/zero | tr '\\0' x; echo end")) == 600
    with pytest.raises(EOFError):
        device.shell2("head -c 5000 /dev/zero | tr '\\0' x", v2=True)


def test_disk_full_refuses_a_push_and_df_shows_no_space(switch_on, open_device):
    device = open_device(switch_on(mishap="disk-full"))

    with pytest.raises(adbutils.AdbError):
        device.sync.push(b"data", "/data/local/tmp/f")

    assert "100%" in device.shell("df /data")
    assert not device.sync.exists("/data/local/tmp/f")


def test_ignores_pinning_accepts_it_and_does_nothing(switch_on, open_device):
    device = open_device(switch_on(mishap="ignores-pinning"))

    before = device.shell(CAPS)
    done = device.shell2(PIN, v2=True)

    assert (done.returncode, done.output) == (0, "")
    assert device.shell(CAPS) == before


def test_refuses_pinning_prints_an_error(switch_on, open_device):
    device = open_device(switch_on(mishap="refuses-pinning"))

    before = device.shell(CAPS)
    done = device.shell2(PIN, v2=True)

    assert done.returncode == 255
    assert "FIXED_PERFORMANCE" in done.stderr
    assert device.shell(CAPS) == before


def test_thermal_override_shows_until_it_is_reset(switch_on, open_device):
    device = open_device(switch_on(mishap="thermal-override"))

    assert "IsStatusOverride: true" in device.shell("dumpsys thermalservice")
    device.shell("cmd thermalservice reset")
    assert "IsStatusOverride: false" in device.shell("dumpsys thermalservice")


def test_battery_faked_shows_until_it_is_reset(switch_on, open_device):
    device = open_device(switch_on(mishap="battery-faked"))

    faked = device.shell("dumpsys battery")
    device.shell("dumpsys battery reset")

    assert "UPDATES STOPPED" in faked
    assert "temperature: 250" in faked
    assert "UPDATES STOPPED" not in device.shell("dumpsys battery")


def test_an_unknown_mishap_is_refused_with_the_list_of_those_there_are():
    with pytest.raises(Exception, match=r"choose one of .*disk-full"):
        SimPhone(mishap="meteorite")


def test_every_mishap_has_a_description():
    assert all(mishap.words.endswith(".") for mishap in MISHAPS.values())


def test_pinning_that_slips_holds_the_clocks_for_a_moment(switch_on, open_device):
    phone = switch_on(mishap="pinning-slips")
    device = open_device(phone)

    free = device.shell(CAPS)
    device.shell(PIN)
    pinned = phone.state.pinned
    phone.clock.sleep(3.0)

    assert pinned
    assert device.shell(CAPS) == free


def test_a_cap_that_lifts_leaves_full_clocks_and_nothing_pinned(switch_on, open_device):
    phone = switch_on(mishap="cap-lifts")
    device = open_device(phone)

    capped = list(map(int, device.shell(CAPS).split()))
    done = device.shell2(PIN, v2=True)
    full = list(map(int, device.shell(CAPS).split()))

    assert (done.returncode, done.output) == (0, "")
    assert all(before < after for before, after in zip(capped, full, strict=True))
    assert not phone.state.pinned


@pytest.mark.parametrize(("mishap", "returncode"), [("refuses-restoring", 255), ("ignores-restoring", 0)])
def test_settings_that_cannot_be_restored_stay_changed_until_the_mishap_ends(
    switch_on, open_device, mishap: str, returncode: int
):
    phone = switch_on(mishap=mishap)
    device = open_device(phone)
    device.shell(f"{PIN}; svc power stayon usb")
    words = (UNPIN, f"settings delete global {STAY_ON}", f"settings put global {STAY_ON} 0", "svc power stayon false")

    codes = [device.shell2(each, v2=True).returncode for each in words]
    changed = phone.state
    phone.end_mishap()
    device.shell("; ".join(words))

    assert codes == [returncode] * 4
    assert (changed.pinned, changed.settings[f"global/{STAY_ON}"]) == (True, "2")
    assert (phone.state.pinned, phone.state.settings[f"global/{STAY_ON}"]) == (False, "0")


def test_a_leftover_of_another_computer_is_a_pin_and_a_journal(switch_on, open_device):
    phone = switch_on(mishap="left-by-another")

    journal = parse_changes(open_device(phone).shell(f"cat {ON_PHONE}"))

    assert phone.state.pinned
    assert journal.pinned
    assert journal.host not in {this_host(), ""}


@pytest.mark.parametrize("personality", PERSONALITIES)
def test_a_phone_that_cannot_cool_always_throttles(personality: str):
    life = Simulation(PERSONALITIES[personality], MISHAPS["cannot-cool"])

    states = [life.advance(0.5), *(life.advance(3600) for _ in range(3))]

    assert min(state.status for state in states) >= 1
    assert states[-1].skin_c == pytest.approx(states[-2].skin_c, abs=0.1)
