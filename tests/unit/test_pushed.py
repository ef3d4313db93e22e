"""Where pushed files lie beside the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.targets.program import name_unpushed, pushed_files, pushed_name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tool", "sub/data.txt", "sub/deep/x", "sub/deep/y", "other/data.txt", "other/x"):
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "outside").write_text("")
    return tmp_path / "tests"


def pushing(folder: Path, *names: str, argv: tuple[str, ...] = ("tool",)) -> Command:
    return Command(argv=argv, push=tuple(str(folder / name) for name in names), folder=str(folder))


def test_a_file_lies_beside_the_command_and_at_its_path_below_the_test(folder: Path):
    found = pushed_files(pushing(folder, "tool", "sub/data.txt", str(folder.parent / "outside")))

    assert found == {
        "tool": folder / "tool",
        "data.txt": folder / "sub/data.txt",
        "sub/data.txt": folder / "sub/data.txt",
        "outside": folder.parent / "outside",
    }


def test_a_folder_lies_there_with_all_that_is_in_it(folder: Path):
    assert set(pushed_files(pushing(folder, "sub/deep"))) == {"deep/x", "deep/y", "sub/deep/x", "sub/deep/y"}


def test_a_file_in_a_folder_that_is_pushed_too_is_the_same_file(folder: Path):
    assert set(pushed_files(pushing(folder, "sub", "sub/data.txt"))) == {
        "sub/data.txt",
        "sub/deep/x",
        "sub/deep/y",
        "data.txt",
    }


def test_a_path_that_leaves_the_folder_and_comes_back_gives_the_plain_name(folder: Path):
    assert set(pushed_files(pushing(folder, "../tests/sub/data.txt"))) == {"data.txt"}


def test_linked_folders_are_followed(folder: Path):
    (folder / "linked").symlink_to(folder / "sub", target_is_directory=True)
    (folder / "all").mkdir()
    (folder / "all" / "in").symlink_to(folder / "sub", target_is_directory=True)

    assert "linked/deep/x" in pushed_files(pushing(folder, "linked"))
    assert "all/in/deep/x" in pushed_files(pushing(folder, "all"))


@pytest.mark.parametrize(
    "names",
    [("sub/data.txt", "other/data.txt"), ("other/x", "sub/deep/x"), ("tool", "tool"), ("sub/deep", "other/deep")],
)
def test_two_of_one_name_are_refused(folder: Path, names: tuple[str, ...]):
    (folder / "other/deep").write_text("")

    with pytest.raises(CaseError, match="two pushed files are named"):
        pushed_files(pushing(folder, *names))


def test_a_file_and_a_folder_of_one_name_are_refused(folder: Path):
    (folder / "other/sub").write_text("a file")

    with pytest.raises(CaseError, match="two pushed files are named sub"):
        pushed_files(pushing(folder, "sub/data.txt", "other/sub"))


def test_a_missing_file_is_named(folder: Path):
    with pytest.raises(CaseError, match=r"no file .*nothing to push: the path is relative to the test file"):
        pushed_files(pushing(folder, "nothing"))


@pytest.mark.parametrize(
    ("argv", "name"), [(("tool",), "tool"), (("./build/tool",), "tool"), (("/usr/bin/sh",), None), (("sh",), None)]
)
def test_the_program_is_a_pushed_one_by_its_plain_name(folder: Path, argv: tuple[str, ...], name: str | None):
    assert pushed_name(pushing(folder, "tool", argv=argv)) == name


def test_an_argument_that_names_a_file_of_this_machine_is_reported(folder: Path):
    path = folder / "sub/data.txt"

    assert "push it and name it data.txt" in name_unpushed(pushing(folder, argv=("tool", f"--graph={path}")))
    assert "machine: name it data.txt" in name_unpushed(pushing(folder, "sub/data.txt", argv=("tool", str(path))))
    assert name_unpushed(pushing(folder, argv=("tool", "sub/data.txt", "/", "--x=/", "", "/dev/null"))) == ""
