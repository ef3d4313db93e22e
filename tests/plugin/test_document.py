"""The destination of the run document, and the report if there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Suite

NOISY = """
import os, subprocess, sys

def work():
    pass

def test_noisy(devperf):
    print("printed by the test")
    os.write(1, b"written by the test\\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    sys.__stdout__.write("written past pytest\\n")
    devperf(work)
"""

QUICK = ("--devperf-target=host", "--devperf-processes=2", "--devperf-rounds=2", "--devperf-iterations=2")

PLAIN = ("-p", "pytest_devperf.plugin", "--devperf-cooldown=off")


def run(suite: Suite, *words: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run pytest by itself, its two outputs apart."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *PLAIN, *QUICK, *words],
        cwd=suite.path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
        **(how or {"capture_output": True}),
    )


@pytest.mark.parametrize("words", [("-q",), ("-s",), ("--capture=sys", "-v", "-rA")])
def test_standard_output_holds_the_document_and_nothing_else(suite: Suite, words: tuple[str, ...]) -> None:
    suite.pytester.makepyfile(test_it=NOISY)

    done = run(suite, "--devperf", "--devperf-json=-", *words)

    assert done.returncode == 0
    (case,) = json.loads(done.stdout)["runs"][0]["cases"]
    assert case["id"] == "test_it.py::test_noisy"
    assert b"devperf: 1 measured" in done.stderr
    assert (b"printed by the test" in done.stderr) == (words != ("-q",))


def test_the_ini_file_may_name_standard_output_too(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOISY)
    suite.pytester.makeini("[pytest]\ndevperf = true\ndevperf_json = -\n")

    assert json.loads(run(suite).stdout)["schema"] == "pytest-devperf/1"


def test_a_session_that_does_not_measure_prints_as_ever(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOISY)

    done = run(suite, "--devperf-json=-")

    assert b"1 passed" in done.stdout
    assert b"passed" not in done.stderr


def test_nothing_reaches_standard_output_of_a_call_that_cannot_be_carried_out(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOISY)

    done = run(suite, "--devperf-compare=nowhere", "--devperf-json=-")

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stdout == b""
    assert b"--devperf-compare=nowhere" in done.stderr


def test_a_reader_that_went_away_fails_the_run_and_is_named(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOISY)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run(suite, "--devperf", "--devperf-json=-", stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)

    assert done.returncode == 1
    assert b"NOT SAVED: standard output cannot be written (broken pipe): name a file instead" in done.stderr


IN_PROCESS = """
import io, json, sys
import pytest

class Notebook(io.StringIO):
    "Standard output as notebooks replace it: without a descriptor."

sys.stdout = mine = Notebook()
code = pytest.main({words!r})
assert sys.stdout is mine
print("after", file=sys.stdout)
document, _, rest = mine.getvalue().rpartition("after")
assert code == 0, code
assert len(json.loads(document)["runs"][0]["cases"]) == 1
"""


def test_a_replaced_standard_output_gets_the_document_and_is_given_back(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_a(devperf):\n    print(1)\n    devperf(work)\n")
    program = IN_PROCESS.format(words=[*PLAIN, *QUICK, "--devperf", "--devperf-json=-"])

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=suite.path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert "devperf: 1 measured" in done.stderr


def test_standard_output_is_given_back_after_a_session_in_this_process(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOISY)
    program = f"import pytest; pytest.main({[*PLAIN, *QUICK, '--devperf', '--devperf-json=-']!r}); print('after')"

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=suite.path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        text=True,
    )

    document, found, rest = done.stdout.rpartition("after")
    assert (found, rest.strip()) == ("after", "")
    assert json.loads(document)["schema"] == "pytest-devperf/1"


def test_a_plugin_that_a_conftest_loads_is_too_late_for_standard_output(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOISY)
    suite.pytester.makeconftest("pytest_plugins = ['pytest_devperf.plugin']")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *QUICK, "--devperf", "--devperf-json=-"],
        cwd=suite.path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
    )

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert b"--devperf-json=- needs pytest-devperf to be loaded before conftest files" in done.stderr


FAILING = """
def work(): pass
def test_a(devperf): devperf(work)
def test_b(devperf):
    devperf(work)
    assert False
def test_c(devperf): devperf(work)
"""


def test_an_interrupted_run_writes_its_results_and_reports_what_is_missing(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=FAILING)

    result = suite.run("--devperf", "-x", "--devperf-json=run.json", "-p", "no:randomly")

    assert result.ret == 1
    (written,) = suite.document()["runs"]
    assert [case["id"] for case in written["cases"]] == ["test_it.py::test_b"]
    assert written["unfinished"] == ["test_it.py::test_a", "test_it.py::test_c"]
    assert "run.json got 1 of 3 cases: the session was ended before the others" in result.stdout.str()


def test_a_run_interrupted_in_its_last_case_reports_that_it_saved_nothing(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_b(devperf):\n    devperf(work)\n    assert False\n")

    result = suite.run("--devperf-save=base", "-x", "--devperf-json=run.json")

    assert suite.saved() == []
    assert "NOT SAVED as base: the session did not finish" in result.stdout.str()
    assert len(suite.cases()) == 1


def test_without_a_case_the_document_holds_no_run(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def test_plain(): pass")

    suite.run("--devperf", "--devperf-json=run.json")

    assert suite.document() == {"schema": "pytest-devperf/1", "runs": []}


def test_a_session_that_only_looks_reports_that_no_document_was_written(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_a(devperf): devperf(work)\n")

    result = suite.run("--devperf", "--devperf-json=run.json", "--collect-only")

    result.stdout.fnmatch_lines(["devperf: no case was measured and nothing was written to run.json"])
    assert not (suite.path / "run.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_leads_to_the_document_and_a_device_stays_one(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_a(devperf): devperf(work)\n")
    (suite.path / "artifacts").mkdir()
    (suite.path / "run.json").symlink_to("artifacts/run.json")

    suite.run("--devperf", "--devperf-json=run.json")
    discarded = suite.run("--devperf", "--devperf-json=/dev/null")

    assert (suite.path / "run.json").is_symlink()
    assert list(json.loads((suite.path / "artifacts" / "run.json").read_text())) == ["schema", "runs"]
    assert discarded.ret == 0
    assert not os.path.isfile("/dev/null")  # noqa: PTH113 - a device is no file
