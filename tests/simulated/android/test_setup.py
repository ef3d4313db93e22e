"""Preparing runner and library for phones, with this machine's compiler standing in for the NDK's."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from pytest_devperf.cli.devices import cooldown, setup_android
from pytest_devperf.errors import Unsupported, UsageError
from pytest_devperf.targets.android.runner.build import TRIPLES
from pytest_devperf.targets.android.runner.setup import LIBRARY, Setup, elf_abi, find_setup, set_up_android
from pytest_devperf.targets.android.setup_folder import FOLDER_VARIABLE

ABI = {"x86_64": "x86_64", "aarch64": "arm64-v8a"}.get(platform.machine(), "x86_64")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_HOME", "ANDROID_SDK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def ndk(tmp_path: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None or platform.system() != "Linux":
        pytest.skip("needs a C compiler on Linux")
    folder = tmp_path / "ndk" / "toolchains" / "llvm" / "prebuilt" / "linux-x86_64" / "bin"
    folder.mkdir(parents=True)
    for triple in TRIPLES.values():
        (folder / f"{triple}-clang").symlink_to(compiler)
    return tmp_path / "ndk"


def test_a_library_and_an_ndk_make_a_setup(home: Path, ndk: Path, setup: Setup) -> None:
    done = set_up_android(library=setup.library, ndk=ndk)

    assert find_setup(ABI) == done[ABI]
    about = subprocess.run([done[ABI].runner, "about"], capture_output=True, text=True, check=True).stdout
    assert '"anchor"' in about
    assert home in done[ABI].library.parents


def test_a_runner_for_phones_suits_pages_of_16_kib(home: Path, ndk: Path, setup: Setup) -> None:
    built = set_up_android(library=setup.library, ndk=ndk)[ABI].runner.read_bytes()

    # ELF64: the table's place and size of an entry, then of each PT_LOAD entry its alignment.
    at, size, count = struct.unpack_from("<Q", built, 32)[0], *struct.unpack_from("<HH", built, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", built, at + place * size) for place in range(count)]
    alignments = [header[7] for header in headers if header[0] == 1]

    assert alignments
    assert min(alignments) >= 16384


def test_a_runner_made_with_other_flags_is_made_again(
    home: Path, setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up_android(library=setup.library, runner=setup.runner)
    monkeypatch.setattr("pytest_devperf.targets.android.runner.build.ANDROID_FLAGS", ("-Wl,-z,max-page-size=65536",))

    with pytest.raises(Unsupported, match="another version of devperf"):
        find_setup(ABI)


@pytest.mark.parametrize("option", ["--library", "--benchmark-model"])
def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(
    tmp_path: Path, setup: Setup, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    parser = argparse.ArgumentParser()
    setup_android.add_arguments(parser)
    words = ["--runner", str(setup.runner)] if option == "--library" else []

    with pytest.raises(UsageError, match=rf"cannot write .*set another folder in {FOLDER_VARIABLE}"):
        setup_android.run(parser.parse_args([option, str(setup.library), *words]))


def test_an_archive_gives_a_setup_for_each_abi_it_holds(home: Path, ndk: Path, tmp_path: Path) -> None:
    aar = tmp_path / "onnxruntime-android.aar"
    with zipfile.ZipFile(aar, "w") as archive:
        archive.writestr(f"jni/arm64-v8a/{LIBRARY}", b"one")
        archive.writestr(f"jni/x86_64/{LIBRARY}", b"two")
        archive.writestr(f"../jni/x86/{LIBRARY}", b"no")

    done = set_up_android(aar=aar, ndk=ndk)

    assert sorted(done) == ["arm64-v8a", "x86_64"]
    assert find_setup("arm64-v8a").library.read_bytes() == b"one"


def test_a_runner_from_a_release_needs_no_ndk(home: Path, setup: Setup) -> None:
    done = set_up_android(library=setup.library, runner=setup.runner)

    assert done[ABI].runner.read_bytes() == setup.runner.read_bytes()


def test_a_runner_of_an_older_devperf_is_made_again(home: Path, setup: Setup) -> None:
    set_up_android(library=setup.library, runner=setup.runner)
    (home / ABI / "setup.json").write_text('{"sources": "older"}')

    with pytest.raises(Unsupported, match=r"another version of devperf.*setup-android"):
        find_setup(ABI)


def test_missing_files_are_reported_with_the_command(home: Path) -> None:
    with pytest.raises(Unsupported, match=r"no ONNX runner is set up for arm64-v8a phones.*devperf setup-android"):
        find_setup("arm64-v8a")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.so", b"text", "is not a shared library"),
        ("x.so", b"\x7fELF" + b"\x02\x01" + bytes(12) + b"\xf3\x00", "processor"),
    ],
)
def test_a_file_that_is_no_library_for_android_is_refused(
    home: Path, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(UsageError, match=words):
        set_up_android(library=tmp_path / name)


def test_without_an_ndk_it_shows_how_to_name_one(home: Path, setup: Setup) -> None:
    with pytest.raises(UsageError, match=r"no Android NDK was found.*--ndk"):
        set_up_android(library=setup.library)


def test_an_archive_without_libraries_is_refused(home: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.aar", "w") as archive:
        archive.writestr("readme", b"")

    with pytest.raises(UsageError, match="contains no jni/"):
        set_up_android(aar=tmp_path / "x.aar")


@pytest.mark.parametrize("size", [(1 << 30) + 1, (1 << 62)])
def test_an_archive_that_would_fill_the_disk_is_refused_before_it_is_unpacked(
    home: Path, tmp_path: Path, size: int
) -> None:
    aar = tmp_path / "bomb.aar"
    with zipfile.ZipFile(aar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"jni/arm64-v8a/{LIBRARY}", bytes(1000))
        archive.infolist()[0].file_size = size  # as in the directory at the end

    with pytest.raises(UsageError, match=rf"jni/arm64-v8a/{LIBRARY} would take .* GiB"):
        set_up_android(aar=aar)


@pytest.mark.parametrize("flag", [1, 0x40])
@pytest.mark.parametrize("method", [8, 9, 14, 99])
def test_an_archive_that_python_cannot_unpack_is_refused_in_one_line(
    home: Path, tmp_path: Path, method: int, flag: int
) -> None:
    aar = tmp_path / "odd.aar"
    with zipfile.ZipFile(aar, "w") as archive:
        archive.writestr(f"jni/arm64-v8a/{LIBRARY}", bytes(1000))
    data = bytearray(aar.read_bytes())
    for header, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # in front of the file, and in the directory
        begins = data.index(header)
        data[begins + at : begins + at + 4] = struct.pack("<HH", flag, method)
    aar.write_bytes(data)

    with pytest.raises(UsageError, match=r"cannot read .*odd\.aar"):
        set_up_android(aar=aar)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a FIFO is a POSIX matter")
@pytest.mark.parametrize("option", ["library", "aar", "runner"])
def test_what_is_no_regular_file_is_not_waited_for(home: Path, setup: Setup, tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    given: dict[str, Path] = {"library": setup.library} if option == "runner" else {}

    with pytest.raises(UsageError, match="fifo is not a regular file"):
        set_up_android(**given, **{option: tmp_path / "fifo"})


def test_a_library_that_git_lfs_did_not_fetch_is_called_so(home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")

    with pytest.raises(UsageError, match=r"Git LFS pointer.*git lfs pull"):
        set_up_android(library=tmp_path / "x.so")


def test_elf_abi_reads_the_machine(setup: Setup) -> None:
    assert elf_abi(setup.library) == ABI


def test_the_command_sets_up_and_shows_the_folder(home: Path, setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    setup_android.add_arguments(parser)

    code = setup_android.run(parser.parse_args(["--library", str(setup.library), "--runner", str(setup.runner)]))

    assert code == 0
    assert str(home / ABI) in capsys.readouterr().out


def test_the_command_cooldown_waits_for_a_temperature(setups: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    cooldown.add_arguments(parser)

    code = cooldown.run(parser.parse_args(["--target", "sim", "--cooldown", "temp=60"]))

    assert code == 0
    assert "Google Pixel 8: " in capsys.readouterr().out
