"""Commands on the simulated phone, through the genuine adb."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import adbutils
import psutil
import pytest
from waiting import until

from pytest_devperf.simphone import SimPhone, simulated_phone
from pytest_devperf.simphone.adb.server import adb_program


def test_the_shell_protocol_transfers_return_code_and_both_outputs(device):
    done = device.shell2("echo out; echo err >&2; exit 3", v2=True)

    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_the_old_shell_joins_both_outputs(device):
    assert device.shell("echo out; echo err >&2; exit 3").split() == ["out", "err"]


def test_adb_itself_gets_the_return_code(phone: SimPhone):
    done = subprocess.run(
        [adb_program(), "-P", str(phone.server_port), "-s", phone.serial, "shell", "exit 7"],
        stdin=subprocess.DEVNULL,
        check=False,
    )

    assert done.returncode == 7


def test_input_reaches_the_command(phone: SimPhone):
    done = subprocess.run(
        [adb_program(), "-P", str(phone.server_port), "-s", phone.serial, "shell", "cat; echo end"],
        input=b"one\ntwo\n",
        capture_output=True,
        check=False,
    )

    assert done.stdout == b"one\ntwo\nend\n"


def test_a_command_killed_by_a_signal_has_the_return_code_of_a_shell(device):
    assert device.shell2("kill -9 $$", v2=True).returncode == 137


def test_a_large_answer_arrives_whole(device):
    assert len(device.shell2("head -c 700000 /dev/zero | tr '\\0' x", v2=True).output) == 700000


def test_paths_are_the_phones_in_commands_and_in_output(phone: SimPhone, device):
    text = 'cd /data/local/tmp && pwd; for f in "/sys/class/thermal/thermal_zone0"/type; do echo $f; done; cd /; pwd'

    assert device.shell2(text, v2=True).output.split() == [
        "/data/local/tmp",
        "/sys/class/thermal/thermal_zone0/type",
        "/",
    ]


def test_a_script_file_sees_the_same_files_as_a_command(device):
    device.sync.push(b"echo $1; cat /sys/class/thermal/thermal_zone0/type /proc/version\n", "/data/local/tmp/look.sh")

    done = device.shell2("sh /data/local/tmp/look.sh word", v2=True)

    assert done.output.splitlines()[:2] == ["word", "BIG"]
    assert "simulated" in done.output


def test_commands_that_no_phone_has_are_not_found(device):
    done = device.shell2("no_such_command", v2=True)

    assert done.returncode == 127


def test_processes_are_real_ones(device):
    assert "VmHWM" in device.shell2("cat /proc/$$/status", v2=True).output
    assert "VmHWM" in device.shell2("cat /proc/self/status", v2=True).output


def test_memory_of_a_running_process_and_of_none(device):
    assert "TOTAL PSS:" in device.shell2("dumpsys meminfo $$", v2=True).output
    assert device.shell2("dumpsys meminfo 999999999", v2=True).output.startswith("No process found")


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN], ids=["terminal", "nohup"])
def test_a_running_command_is_hung_up_on_when_its_asker_leaves(phone: SimPhone, device, handler):
    signal.signal(signal.SIGHUP, handler)
    device.shell2("rm -f /data/local/tmp/gone", v2=True)
    stream = device.shell(
        "trap 'echo gone >/data/local/tmp/gone; exit' HUP; echo ready; while :; do sleep 0.05; done", stream=True
    )
    with stream:
        assert stream.conn.recv(16).strip() == b"ready"

    until(lambda: device.shell2("cat /data/local/tmp/gone", v2=True).output == "gone\n")


def test_settings_properties_and_stay_awake_are_kept(device):
    device.shell2(
        "settings put global animator_duration_scale 0; setprop debug.note 'a b'; svc power stayon usb", v2=True
    )

    words = (
        "settings get global animator_duration_scale; settings get global stay_on_while_plugged_in; getprop debug.note"
    )
    assert device.shell2(words, v2=True).output.splitlines() == ["0", "2", "a b"]
    assert (
        device.shell2("svc power stayon false; settings get global stay_on_while_plugged_in", v2=True).output == "0\n"
    )


def test_read_only_properties_stay(device):
    assert device.shell2("setprop ro.product.model other", v2=True).returncode == 1


def test_waking_and_sleeping_shows_in_the_power_service(device):
    asleep = device.shell("input keyevent KEYCODE_SLEEP; dumpsys power").split()
    awake = device.shell("input keyevent KEYCODE_WAKEUP; dumpsys power").split()

    assert "mWakefulness=Dozing" in asleep
    assert "mWakefulness=Awake" in awake


def test_two_phones_live_behind_one_server(phone: SimPhone, switch_on):
    other = switch_on("motorola")

    client = adbutils.AdbClient(host="127.0.0.1", port=phone.server_port)

    assert {phone.serial, other.serial} <= {found.serial for found in client.list()}
    assert phone.own_serial != other.own_serial


@pytest.mark.parametrize("isolate", [True, False])
def test_switching_off_ends_running_commands(adb_server, open_device, isolate: bool):
    seconds = f"600.{os.getpid()}{isolate:d}"
    with simulated_phone(server=adb_server, isolate=isolate) as phone:
        open_device(phone).shell2(f"setsid sleep {seconds} >/dev/null 2>&1 &", v2=True)
        until(lambda: running(seconds))

    assert not running(seconds)


def running(word: str) -> list[int]:
    """Processes of this machine with a word in their command line."""
    return [process.pid for process in psutil.process_iter(["cmdline"]) if word in (process.info["cmdline"] or ())]


def test_simultaneous_requests_get_their_own_responses(phone: SimPhone, open_device):
    def ask(number: int) -> str:
        return open_device(phone).shell2(f"setprop debug.n{number} {number}; getprop debug.n{number}", v2=True).output

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(24))) == [f"{number}\n" for number in range(24)]
