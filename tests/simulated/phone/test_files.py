"""Files pushed to the simulated phone and pulled from it."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import adbutils
import pytest
from waiting import until

from pytest_devperf.simphone import SimPhone
from pytest_devperf.simphone.adb.server import adb_program

FOLDER = "/data/local/tmp"


def adb(phone: SimPhone, *words: str) -> subprocess.CompletedProcess[str]:
    """The genuine client, which picks version 2 of every request that is advertised."""
    line = [adb_program(), "-P", str(phone.server_port), "-s", phone.serial, *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3_000_000])
def test_a_file_comes_back_as_it_went(phone: SimPhone, device, tmp_path: Path, size: int):
    data = hashlib.shake_128(b"seed").digest(size)
    (tmp_path / "there").write_bytes(data)

    assert adb(phone, "push", str(tmp_path / "there"), f"{FOLDER}/f").returncode == 0
    assert adb(phone, "pull", f"{FOLDER}/f", str(tmp_path / "back")).returncode == 0

    assert (tmp_path / "back").read_bytes() == data
    assert device.shell2(f"sha256sum {FOLDER}/f", v2=True).output.split()[0] == hashlib.sha256(data).hexdigest()
    assert device.sync.stat(f"{FOLDER}/f").size == size


def test_a_folder_goes_and_comes_back(phone: SimPhone, tmp_path: Path):
    (tmp_path / "tree/below").mkdir(parents=True)
    (tmp_path / "tree/a").write_text("a")
    (tmp_path / "tree/below/b").write_text("b")

    pushed = adb(phone, "push", str(tmp_path / "tree"), FOLDER)
    pulled = adb(phone, "pull", f"{FOLDER}/tree", str(tmp_path / "back"))

    assert (pushed.returncode, pulled.returncode) == (0, 0), pushed.stderr + pulled.stderr
    assert (tmp_path / "back/below/b").read_text() == "b"


@pytest.mark.parametrize(
    "name",
    ["a b", "it's", 'quo"te', "$HOME", "semi;colon", "back\\slash", "ünïcödé 漢字", "-dash", "star*", "new\nline"],
)
def test_a_hostile_name_is_a_name_like_any_other(device, name: str):
    device.sync.push(b"data", f"{FOLDER}/names/{name}")

    assert device.sync.read_bytes(f"{FOLDER}/names/{name}") == b"data"
    assert name in {entry.path for entry in device.sync.list(f"{FOLDER}/names")}


def test_no_path_leaves_the_sandbox(phone: SimPhone, device):
    device.sync.push(b"data", f"{FOLDER}/../../../../data/local/tmp/inside")

    assert device.sync.read_bytes(f"{FOLDER}/inside") == b"data"
    assert not device.sync.exists("/../../../../etc/passwd")


@pytest.mark.parametrize("path", ["/system/bin/x", "/sys/x", "/data/x", "/x"])
def test_a_push_to_a_folder_that_the_shell_may_not_write_to_is_refused(phone: SimPhone, tmp_path: Path, path: str):
    (tmp_path / "f").write_text("data")

    refused = adb(phone, "push", str(tmp_path / "f"), path)

    assert refused.returncode == 1
    assert re.search("Permission denied|Read-only file system", refused.stderr + refused.stdout)


def test_a_missing_file_cannot_be_pulled(device):
    with pytest.raises(adbutils.AdbError):
        device.sync.read_bytes(f"{FOLDER}/not there")


def test_a_pushed_program_really_runs(device):
    device.sync.push(Path("/bin/echo").resolve(), f"{FOLDER}/program", mode=0o755)

    done = device.shell2(f"cd {FOLDER} && chmod 755 program && ./program it ran", v2=True)

    assert (done.returncode, done.output) == (0, "it ran\n")


def test_the_card_is_another_name_of_the_storage(device):
    device.sync.push(b"data", "/sdcard/note")

    assert device.shell2("cat /storage/emulated/0/note", v2=True).output == "data"


def test_a_pushed_file_gets_its_owners_permissions_for_everybody(device, tmp_path: Path):
    device.sync.push(b"data", f"{FOLDER}/read-only", mode=0o444)
    device.sync.push(b"data", f"{FOLDER}/own", mode=0o640)
    device.sync.push(b"data", f"{FOLDER}/program", mode=0o755)

    shown = device.shell(f"cd {FOLDER}; stat -c %a read-only own program").split()

    assert shown == ["444", "666", "777"]


def test_a_link_is_followed_within_the_phone(phone: SimPhone, device, tmp_path: Path):
    device.sync.push(b"data", f"{FOLDER}/target")
    device.shell(f"ln -sf {FOLDER}/target {FOLDER}/link; ln -sf {__file__} {FOLDER}/out")

    assert device.sync.read_bytes(f"{FOLDER}/link") == b"data"
    assert adb(phone, "pull", f"{FOLDER}/out", str(tmp_path / "pulled")).returncode == 1


def test_a_file_that_did_not_arrive_whole_is_taken_away(phone: SimPhone, device):
    with device.sync._prepare_sync(f"{FOLDER}/part,33188", "SEND") as connection:
        connection.conn.sendall(b"DATA\x04\x00\x00\x00data")
        until(lambda: device.shell(f"cat {FOLDER}/part 2>/dev/null") == "data")

    until(lambda: not device.sync.exists(f"{FOLDER}/part"))
