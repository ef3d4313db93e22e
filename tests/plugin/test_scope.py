"""Which cases a command could have measured, and by which ids they are known, wherever their files lie."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.session.options.scope import Location, relative_path

if TYPE_CHECKING:
    from conftest import Suite

USAGE = pytest.ExitCode.USAGE_ERROR
COMPARE = "--devperf-compare=base"

ONE = "def work(): pass\ndef test_{}(devperf): devperf(work)\n"
NAMED = "import pytest\ndef work(): pass\n@pytest.mark.devperf(id='{0}')\ndef test_{0}(devperf): devperf(work)\n"
WITHIN = "devperf: {} within noise; compared with base"


def _write(suite: Suite, **sources: str) -> None:
    for name, source in sources.items():
        path = suite.path.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)


# -- what is missing under a path argument ------------------------------------------------------------


def test_a_folder_does_not_claim_the_cases_of_another_one_whose_name_it_begins(suite: Suite) -> None:
    _write(suite, t__test_a=ONE.format("a"), t2__test_b=ONE.format("b"))
    suite.run("--devperf-save=base")
    result = suite.run(COMPARE, "t")
    assert result.ret == 0
    assert suite.last_line(result) == WITHIN.format(1)


def test_a_test_does_not_claim_another_one_whose_name_it_begins(suite: Suite) -> None:
    _write(suite, test_a=ONE.format("sort") + ONE.format("sort_big"))
    suite.run("--devperf-save=base")
    result = suite.run(COMPARE, "test_a.py::test_sort")
    assert result.ret == 0
    assert suite.last_line(result) == WITHIN.format(1)


@pytest.mark.parametrize("folder", ["t", "./t", "t/", "x/../t", "{root}/t"])
def test_a_deleted_case_is_missing_under_its_folder_however_that_is_written(suite: Suite, folder: str) -> None:
    (suite.path / "x").mkdir()
    _write(suite, t__test_a=ONE.format("a") + ONE.format("b"))
    suite.run("--devperf-save=base")
    _write(suite, t__test_a=ONE.format("a"))
    result = suite.run(COMPARE, folder.format(root=suite.path))
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 MISSING, 1 within noise; compared with base"


def test_a_deleted_case_with_an_explicit_id_is_missing_under_its_folder(suite: Suite) -> None:
    _write(suite, t__test_a=ONE.format("a") + NAMED.format("mine"), other__test_b=NAMED.format("theirs"))
    suite.run("--devperf-save=base")
    _write(suite, t__test_a=ONE.format("a"))
    result = suite.run(COMPARE, "t")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["MISSING mine: in the baseline, but not measured"])
    assert suite.last_line(result) == "devperf: 1 MISSING, 1 within noise; compared with base"


def test_a_deleted_parameter_with_an_explicit_id_is_missing_under_its_test(suite: Suite) -> None:
    source = """
import pytest
def work(x): pass
@pytest.mark.parametrize("x", [{}])
def test_it(devperf, x): devperf(work, x)
def test_other(devperf): devperf(work, 0)
"""
    both = "pytest.param(1, marks=pytest.mark.devperf(id='one')), pytest.param(2, marks=pytest.mark.devperf(id='two'))"
    _write(suite, test_a=source.format(both))
    suite.run("--devperf-save=base")
    _write(suite, test_a=source.format(both.partition("),")[0] + ")"))
    result = suite.run(COMPARE, "test_a.py::test_it")
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 MISSING, 1 within noise; compared with base"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_deleted_case_is_missing_under_a_linked_folder(suite: Suite) -> None:
    _write(suite, real__test_a=ONE.format("a") + ONE.format("b"))
    (suite.path / "link").symlink_to(suite.path / "real")
    suite.run("--devperf-save=base", "link")
    _write(suite, real__test_a=ONE.format("a"))
    result = suite.run(COMPARE, "link")
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 MISSING, 1 within noise; compared with base"


@pytest.mark.parametrize("argument", ["shop.benches", "shop.benches.test_a", "shop"])
@pytest.mark.parametrize("inside", [True, False], ids=["below rootdir", "elsewhere"])
def test_a_deleted_case_is_missing_under_a_package(suite: Suite, tmp_path: Path, argument: str, inside: bool) -> None:
    home = (suite.path if inside else tmp_path) / "lib/site-packages"
    package = home / "shop/benches"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    file = package / "test_a.py"
    file.write_text(ONE.format("a") + ONE.format("b"))
    suite.pytester.syspathinsert(home)
    suite.run("--devperf-save=base", "--pyargs", "shop")
    file.write_text(ONE.format("a"))
    result = suite.run(COMPARE, "--pyargs", argument)
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 MISSING, 1 within noise; compared with base"


def test_the_folder_a_session_starts_in_narrows_it(suite: Suite) -> None:
    _write(suite, t__test_a=ONE.format("a"), u__test_b=ONE.format("b"))
    suite.run("--devperf-save=base")
    suite.pytester._monkeypatch.chdir(suite.path / "t")
    result = suite.run(COMPARE)
    assert result.ret == 0
    assert suite.last_line(result) == WITHIN.format(1)


def test_testpaths_do_not_narrow_a_session_so_a_changed_ini_file_loses_no_case(suite: Suite) -> None:
    _write(suite, t__test_a=ONE.format("a"), u__test_b=ONE.format("b"))
    suite.run("--devperf-save=base")
    suite.ini("testpaths = t")
    result = suite.run(COMPARE)
    assert result.ret == 1
    assert "1 MISSING" in suite.last_line(result)


def test_a_run_that_was_saved_without_paths_misses_cases_by_their_node_ids(suite: Suite) -> None:
    _write(suite, t__test_a=ONE.format("a") + ONE.format("b"), t2__test_b=ONE.format("b"))
    suite.run("--devperf-save=base")
    (saved,) = suite.saved()
    lines = saved.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.lstrip().startswith(('"path":', '"test":'))]
    saved.write_text("\n".join(kept), encoding="utf-8")
    _write(suite, t__test_a=ONE.format("a"))
    result = suite.run(COMPARE, "t")
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 MISSING, 1 within noise; compared with base"


def test_records_contain_the_locations_of_their_tests(suite: Suite) -> None:
    _write(suite, t__test_a="class TestIt:\n    def test_a(self, devperf): devperf(len, [])\n")
    suite.run("--devperf", "--devperf-json=run.json")
    (case,) = suite.cases().values()
    assert (case["path"], case["test"]) == ("t/test_a.py", "TestIt::test_a")


# -- full cases on the command line -----------------------------------------------------------------------


def test_a_file_on_the_command_line_does_not_select_full_cases_of_one_whose_name_ends_alike(suite: Suite) -> None:
    source = "import pytest\ndef work(): pass\n@pytest.mark.devperf_full\ndef test_it(devperf): devperf(work)\n"
    _write(suite, x_test=source, ax_test=source)
    result = suite.run("--devperf", "--devperf-json=run.json", "x_test.py::test_it", "ax_test.py")
    assert result.ret == 0
    assert list(suite.cases()) == ["x_test.py::test_it"]


@pytest.mark.parametrize("name", ["TestIt", "TestIt::test_it", "TestIt::test_it[2]"])
def test_a_full_case_is_selected_by_the_name_of_its_class_its_test_or_its_parameter(suite: Suite, name: str) -> None:
    _write(
        suite,
        test_a="""
import pytest
def work(x): pass
@pytest.mark.devperf_full
class TestIt:
    @pytest.mark.parametrize("x", [2, 22])
    def test_it(self, devperf, x): devperf(work, x)
    def test_it_too(self, devperf): devperf(work, 0)
""",
    )
    suite.run("--devperf", "--devperf-json=run.json", f"./test_a.py::{name}")
    expected = {"TestIt": 3, "TestIt::test_it": 2, "TestIt::test_it[2]": 1}[name]
    assert len(suite.cases()) == expected


# -- ids of files outside rootdir ---------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Two files outside rootdir with a test of the same name each."""
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(f"def {name}(): pass\ndef test_same(devperf): devperf({name})\n")
    return tmp_path


def _run_outside(suite: Suite, *args: str) -> pytest.RunResult:
    return suite.run("-c", str(suite.path / "tox.ini"), "--rootdir", str(suite.path), "-p", "conftest", *args)


def test_two_files_outside_rootdir_never_share_a_baseline(suite: Suite, outside: Path) -> None:
    suite.pytester.syspathinsert(suite.path)
    suite.takes(one=1_000_000, two=3_000_000)
    files = [str(outside / "test_one.py"), str(outside / "test_two.py")]
    assert _run_outside(suite, "--devperf-save=base", *files).ret == 0
    suite.takes(one=2_800_000, two=3_000_000)
    result = _run_outside(suite, COMPARE, "--devperf-json=run.json", *files)
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 REGRESSED, 1 within noise; compared with base"
    folder = Path(os.path.relpath(outside, suite.path)).as_posix()
    assert set(suite.cases()) == {f"{folder}/test_one.py::test_same", f"{folder}/test_two.py::test_same"}


def test_the_id_of_a_file_outside_rootdir_does_not_depend_on_the_arguments(suite: Suite, outside: Path) -> None:
    suite.pytester.syspathinsert(suite.path)
    _run_outside(suite, "--devperf-save=base", str(outside))
    for arguments in ([str(outside / "test_one.py")], [f"{outside}/test_two.py::test_same"]):
        result = _run_outside(suite, COMPARE, *arguments)
        assert result.ret == 0
        assert suite.last_line(result) == WITHIN.format(1)


def test_a_test_outside_rootdir_is_not_the_baseline_of_another_one_of_its_name(suite: Suite, outside: Path) -> None:
    suite.pytester.syspathinsert(suite.path)
    _run_outside(suite, "--devperf-save=base", str(outside / "test_one.py"))
    result = _run_outside(suite, COMPARE, str(outside / "test_two.py"))
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 NEW; NOTHING was compared with base"


def test_two_tests_with_one_id_are_refused_and_both_are_named(suite: Suite) -> None:
    _write(suite, t__test_a=NAMED.format("same"), u__test_a=NAMED.format("same"))
    result = suite.run("--devperf", "--import-mode=importlib")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(
        ["*u?test_a.py:3::test_same and *t?test_a.py:3::test_same are both called 'same': *@pytest.mark.devperf(id=*"]
    )


def test_a_file_that_is_collected_twice_holds_the_same_case_twice(suite: Suite) -> None:
    _write(suite, test_a=ONE.format("a"))
    result = suite.run("--devperf", "--keep-duplicates", "test_a.py", "test_a.py")
    assert result.ret == 0
    result.assert_outcomes(passed=2)


# -- how places are spelt ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "spelt"),
    [
        ("/work/tests/test_a.py", "tests/test_a.py"),
        ("/work", "."),
        ("/other/test_a.py", "../other/test_a.py"),
        ("/venv/lib/python3.12/site-packages/shop/test_a.py", "shop/test_a.py"),
        ("/usr/lib/python3/dist-packages/shop", "shop"),
    ],
)
def test_a_path_is_spelt_relative_to_rootdir_or_to_the_packages_of_its_environment(path: str, spelt: str) -> None:
    assert relative_path(Path(path), Path("/work")) == spelt


@pytest.mark.parametrize(
    ("argument", "test", "held"),
    [
        (Location("."), Location("t/test_a.py", "test_it"), True),
        (Location(".."), Location("../other/test_a.py", "test_it"), True),
        (Location("../other"), Location("../other/test_a.py", "test_it"), True),
        (Location("../other"), Location("t/test_a.py", "test_it"), False),
        (Location("t"), Location("t", "test_it"), True),
        (Location("t/test_a.py", "TestIt"), Location("t/test_a.py", "TestIt::test_it[a::b]"), True),
        (Location("t/test_a.py", "TestIt"), Location("t/test_a.py", "TestItToo::test_it"), False),
        (Location("t/test_a.py", "test_it[a::b]"), Location("t/test_a.py", "test_it[a::b]"), True),
        (Location("t/test_a.py", "test_it[a]"), Location("t/test_a.py", "test_it[a]b]"), False),
        (Location("t/test_a.py", "test_it"), Location("t/test_b.py", "test_it"), False),
    ],
)
def test_an_argument_holds_what_lies_below_it(argument: Location, test: Location, held: bool) -> None:
    assert argument.holds(test) is held
