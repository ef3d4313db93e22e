"""The files of this machine that a simulated phone uses."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.simphone.android.commands import COMMANDS
from pytest_devperf.simphone.isolation.elf import read_elf
from pytest_devperf.simphone.isolation.host_files import SHELLS, HostFiles, find_host_files, find_tools
from pytest_devperf.simphone.isolation.layout import CONTROL, Layout, isolated_layout, translated_layout
from pytest_devperf.simphone.isolation.stubs import make_stubs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can bind single files")

STUBS = make_stubs(COMMANDS, control=CONTROL, interpreter="/system/bin/sh", translating=False)


def test_a_program_of_this_machine_names_its_loader_and_its_libraries():
    elf = read_elf(Path(sys.executable).resolve())

    assert elf is not None
    assert Path(elf.interpreter).is_file()
    assert any(name.startswith(("libc.", "libpython", "libc-")) for name in elf.needed)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(60), b"#!/bin/sh\n", bytes(4096)])
def test_a_file_that_is_not_a_program_needs_no_libraries(tmp_path: Path, data: bytes):
    (tmp_path / "file").write_bytes(data)

    elf = read_elf(tmp_path / "file")

    assert elf is None or not (elf.interpreter or elf.needed)


@given(st.lists(st.tuples(st.integers(0, 1023), st.integers(0, 255)), max_size=20))
def test_a_damaged_program_is_read_or_refused(damage: list[tuple[int, int]]):
    program = bytearray(Path(find_host_files().programs["cat"]).read_bytes())
    for at, byte in damage:
        program[at] = byte

    with tempfile.NamedTemporaryFile() as file:
        file.write(program)
        file.flush()
        read_elf(Path(file.name))


def test_every_library_that_a_program_needs_is_included():
    host_files = find_host_files()
    names = {Path(path).name for path in host_files.libraries}

    for program in {*host_files.programs.values(), *host_files.libraries.values()}:
        elf = read_elf(Path(program))
        assert set(elf.needed) <= names, program


def test_the_shell_is_mksh_or_the_simplest_one_installed():
    assert Path(find_host_files().programs["sh"]).name in {*SHELLS, "toybox", "bash"}


def paths(layout: Layout) -> list[str]:
    return [str(step[1]) for step in layout.steps if step[0] != "hide_others"]


@pytest.mark.parametrize("sdk", [28, 35])
def test_no_path_occurs_twice_in_a_layout(sdk: int):
    laid = paths(isolated_layout(find_host_files(), STUBS, sdk=sdk))
    translated = paths(translated_layout(find_tools(), STUBS))

    assert len(laid) == len(set(laid))
    assert len(translated) == len(set(translated))


def test_a_phone_shows_no_folder_of_this_machine_but_its_python_and_its_locale():
    host_files = find_host_files()
    steps = isolated_layout(host_files, STUBS, sdk=35).steps
    folders = [
        source for word, _path, *rest in steps if word == "bind" for source in rest if Path(str(source)).is_dir()
    ]

    assert set(folders) <= {*host_files.runtime.values(), host_files.locale}


def test_stubs_take_precedence_over_programs_of_this_machine():
    layout = isolated_layout(HostFiles(programs={"id": "/usr/bin/id", "cat": "/usr/bin/cat"}), STUBS, sdk=35)

    words = {path: word for word, path, *_rest in layout.steps}
    assert (words["/system/bin/id"], words["/system/bin/cat"]) == ("file", "bind")
