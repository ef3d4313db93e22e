"""An isolated simulated phone has none of this machine's files, environment, processes and network."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from waiting import has_ended, until

from pytest_devperf.simphone import PERSONALITIES, AdbServer, SimPhone, simulated_phone
from pytest_devperf.simphone.isolation.system import NotIsolatedError
from pytest_devperf.simphone.state.personality import host_abi

FOLDER = "/data/local/tmp"

ROOT = {
    *(
        "apex",
        "bin",
        "data",
        "dev",
        "etc",
        "mnt",
        "odm",
        "proc",
        "product",
        "sdcard",
        "storage",
        "sys",
        "system",
        "vendor",
    ),
    *("lib", "lib32", "lib64", "usr"),  # where this machine's loader looks for the libraries that the phone uses
}

PROBE = "import os, socket; socket.create_connection(('127.0.0.1', int(os.environ['PORT'])))"


@pytest.fixture(scope="module")
def phone(adb_server: AdbServer) -> SimPhone:
    """A phone that is isolated, or a skipped test; this machine's environment held a secret when it booted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEVPERF_TEST_SECRET", "of this machine")
        patch.setenv("LD_LIBRARY_PATH", "/opt/of/this/machine")
        with simulated_phone(server=adb_server) as phone:
            if phone.barrier is not None:
                pytest.skip(f"this machine cannot isolate a phone: {phone.barrier}")
            yield phone


def test_no_file_of_this_machine_is_there(device, tmp_path: Path):
    (tmp_path / "file").write_text("of this machine")
    paths = {
        *(tmp_path / "file", Path(__file__), Path.home(), Path.cwd(), Path(sys.executable), Path(sys.prefix, "bin")),
        *(
            Path(tempfile.gettempdir()),
            Path("/tmp"),
            Path("/usr/bin/env"),
            Path("/usr/bin/python3"),
            Path("/etc/passwd"),
        ),
        *(Path("/var"), Path("/home"), Path("/root"), Path("/usr/share"), Path("/run")),
    }

    found = device.shell("\n".join(f'[ -e "{path}" ] && echo "{path}"' for path in paths) + "\n:").splitlines()

    assert found == []


def test_nothing_but_a_phones_folders_and_single_libraries_is_at_the_root(device):
    names = device.shell("ls -A /").split()
    others = device.shell("find /usr /lib* /bin -type f").split()

    assert set(names) <= ROOT
    assert [path for path in others if ".so" not in path and "/locale/C." not in path] == []


def test_a_library_that_is_not_pushed_is_missing(device):
    libraries = device.shell("find /usr/lib* /lib* -name '*.so*'").split()

    assert any("libc." in path for path in libraries)
    assert not any("onnx" in path or "python" in path for path in libraries)
    assert len(libraries) < 100


def test_nothing_of_this_machines_environment_is_there(device):
    variables = dict(line.split("=", 1) for line in device.shell("env").splitlines())

    assert "DEVPERF_TEST_SECRET" not in variables
    assert "LD_LIBRARY_PATH" not in variables
    assert variables["PATH"] == "/system/bin:/vendor/bin"
    assert variables["TMPDIR"] == FOLDER


def test_no_process_of_this_machine_is_seen(device):
    pids = device.shell("cd /proc; ls -d [0-9]*").split()

    assert "1" in pids
    assert len(pids) < 10 < len(psutil.pids())
    assert device.shell(f"[ -d /proc/{os.getpid()} ] && [ {os.getpid()} -gt 1000 ] && echo seen") == ""


def test_files_of_the_kernel_about_this_machine_cannot_be_read(device):
    kept = "cgroups|cpuinfo|filesystems|loadavg|meminfo|mounts|net|self|stat|thread-self|uptime|version"
    others = f"$(ls /proc | grep -vE '^({kept}|[0-9]+)$' | sed 's|^|/proc/|')"

    assert device.shell(f"for f in {others}; do [ -r $f ] || [ -w $f ] && echo $f; done; echo end") == "end"
    assert device.shell("cat /proc/vmstat /proc/pressure/cpu /proc/cmdline 2>/dev/null") == ""
    assert "simulated" in device.shell("cat /proc/version")


def test_this_machines_servers_are_not_reached_without_a_reverse(phone: SimPhone, device):
    app = "com.example.probe"
    phone.install_app(app, [sys.executable, "-c", PROBE])

    with socket.create_server(("127.0.0.1", 0)) as server:
        device.shell(f"am start -n {app}/.Main --ei PORT {server.getsockname()[1]}")
        until(lambda: any("refused" in line for line in phone.log))

    assert not device.shell("ls /sys/class/net 2>/dev/null")


def test_the_shell_is_the_user_shell_and_owns_what_it_makes(device):
    shown = device.shell(f"id -u; id -un; touch {FOLDER}/mine; stat -c '%u %a' {FOLDER}/mine")

    assert shown.split() == ["2000", "shell", "2000", "666"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls /data", "Permission denied"),
        ("ls /data/app", "Permission denied"),
        ("echo x > /data/x", "Permission denied"),
        ("echo x > /x", "Read-only file system"),
        ("echo x > /system/bin/sh", "Read-only file system"),
        ("echo 1 > /sys/class/thermal/thermal_zone0/temp", "Read-only file system"),
        ("echo 1 > /proc/stat", "Read-only file system"),
        ("mount -t tmpfs none /data/local/tmp", "not found"),
        ("su", "not found"),
        ("python3 -V", "not found"),
        ("git --version", "not found"),
    ],
)
def test_the_shell_has_no_more_rights_than_on_a_phone(device, command: str, words: str):
    done = device.shell2(command, v2=True)

    assert done.returncode != 0
    assert words in done.stderr


def test_the_card_holds_no_programs(device):
    device.sync.push(b"#!/system/bin/sh\necho ran\n", "/sdcard/program", mode=0o755)
    device.sync.push(b"#!/system/bin/sh\necho ran\n", f"{FOLDER}/program", mode=0o755)

    refused = device.shell2("/sdcard/program", v2=True)

    assert (refused.returncode, "Permission denied" in refused.stderr) == (126, True)
    assert device.shell(f"{FOLDER}/program") == "ran"


def test_a_program_without_the_right_to_be_executed_is_refused(device):
    device.sync.push(b"#!/system/bin/sh\necho ran\n", f"{FOLDER}/plain", mode=0o644)

    assert device.shell2(f"{FOLDER}/plain", v2=True).returncode == 126


@pytest.mark.usefixtures("phone")
def test_bin_came_with_android_10(switch_on, open_device):
    old = open_device(switch_on("android9"))
    new = open_device(switch_on("samsung-old"))

    assert old.shell("[ -e /bin/sh ] || echo none") == "none"
    assert new.shell("readlink /bin") == "system/bin"


@pytest.mark.usefixtures("phone")
@pytest.mark.parametrize("personality", PERSONALITIES)
def test_every_family_is_isolated(switch_on, open_device, personality: str):
    device = open_device(switch_on(personality))

    assert device.shell(f"[ -e {__file__} ] || echo none") == "none"
    assert device.shell("getprop ro.product.cpu.abi") == host_abi()


@pytest.mark.usefixtures("phone")
def test_two_phones_do_not_see_each_other(switch_on, open_device):
    one, other = (open_device(switch_on()) for _ in range(2))

    one.shell(f"echo here > {FOLDER}/mark; sleep 600 >/dev/null 2>&1 &")

    assert other.shell(f"ls {FOLDER}; ps -e | grep sleep") == ""


SESSION = """
import sys, time
from pytest_devperf.simphone import AdbServer, simulated_phone
import adbutils
isolate, seconds = sys.argv[1] == "isolated", sys.argv[2]
with AdbServer() as server, simulated_phone(server=server, isolate=isolate) as phone:
    device = adbutils.AdbClient(host="127.0.0.1", port=phone.server_port).device(serial=phone.serial)
    device.shell(f"setsid sleep {seconds} >/dev/null 2>&1 &")
    print(phone._sandbox.system.pid, phone._sandbox.place("/"), flush=True)
    device.shell(f"sleep {seconds}")
"""


@pytest.mark.parametrize("how", ["isolated", "translated"])
def test_a_session_that_is_killed_takes_its_phone_with_it(how: str):
    seconds = f"700.{os.getpid()}{how == 'isolated':d}"
    with subprocess.Popen([sys.executable, "-c", SESSION, how, seconds], stdout=subprocess.PIPE, text=True) as session:
        pid, root = session.stdout.readline().split()
        until(lambda: len(_running(seconds)) >= 2)
        os.kill(session.pid, signal.SIGKILL)

    until(lambda: has_ended(int(pid)) and not _running(seconds))
    until(lambda: root == "/" or not Path(root).parent.exists())


def _running(word: str) -> list[int]:
    return [process.pid for process in psutil.process_iter(["cmdline"]) if word in (process.info["cmdline"] or ())]


def test_the_reason_against_isolation_is_reported_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    switch = tmp_path / "apparmor_restrict_unprivileged_userns"
    switch.write_text("1\n")

    def refuse(_plan: object) -> None:
        raise NotIsolatedError("Operation not permitted while mounting /")

    monkeypatch.setattr("pytest_devperf.simphone.isolation.isolated.System", refuse)
    monkeypatch.setattr("pytest_devperf.simphone.isolation.isolated.APPARMOR", switch)

    with SimPhone() as phone:
        assert phone.barrier == (
            "Operation not permitted while mounting /; "
            "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows it"
        )
        assert phone.warning.startswith("the simulated phone is not isolated (Operation not permitted")
