"""Old and new code in turns: two environments, real interpreters."""

from __future__ import annotations

import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

pytestmark = pytest.mark.slow

OLD = """
def work(n):
    return sum(i * i for i in range(n))

def same(n):
    return sorted(range(n, 0, -1))
"""

NEW = OLD.replace("in range(n))", "in range(3 * n))") + "\ndef added(n):\n    return list(range(n))\n"

CASES = """
import measured

def test_work(devperf):
    devperf(measured.work, 3000)

def test_same(devperf):
    devperf.record("values", len(devperf(measured.same, 3000)), unit="")
"""

QUICK = ("--devperf-iterations=5", "--devperf-tolerance=60%", "-k")
"""A busy machine's tests shall not depend on its mood: new code is three times as slow."""

FILES = ("--devperf-json=run.json", "--devperf-html=report.html", "--devperf-markdown=report.md")


def environment(folder: Path, code: str | None) -> str:
    """An environment that holds what this one holds, and some code."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib*/python*/site-packages"))
    places = [place for place in sys.path if "site-packages" in place]
    lines = [f"import site; site.addsitedir({place!r})" for place in places]
    (packages / "beside.pth").write_text("\n".join(lines) + "\n")
    if code is not None:
        (packages / "measured.py").write_text(code)
    return str(folder / "bin" / "python")


@pytest.fixture
def two(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite whose old code lies in an environment; the new code is on the path of this one."""
    suite.pytester.makepyfile(test_ab=CASES)
    suite.pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = ignore\n")
    suite.new = environment(suite.path.parent / f"{suite.path.name}-new", NEW)
    suite.old = environment(suite.path.parent / f"{suite.path.name}-old", OLD)
    monkeypatch.setattr(sys, "executable", suite.new)
    return suite


@pytest.mark.slow
def test_new_code_that_is_slower_regresses_in_its_own_test_alone(two: Suite) -> None:
    result = two.run_here(f"--devperf-against={two.old}", *QUICK, "work or same", "-v", *FILES, explain=None)
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(
        ["*test_work REGRESSED*", "*test_same PASSED*"]
    )  # a case ends once it is decided
    result.stdout.fnmatch_lines(
        [
            "latency regressed: * (+*",
            "where: *measured.py * of +* (*%)*",
            "*note: old code in turns: Python *",
            f"devperf: 1 REGRESSED, 1 within noise; compared with {two.old}",
        ]
    )
    page, text = ((two.path / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    assert "1 of 2 cases regressed" in page
    assert '"before"' in page, "the old code's distribution stands beside the new one's"
    assert "1 of 2 cases regressed" in text
    (slow, same) = two.cases().values()
    (latency,) = slow["metrics"]
    assert latency["process"] == latency["against"]["process"]
    (change,) = slow["comparison"]["changes"]
    assert sorted(set(latency["process"])) == list(range(1, change["pairs"] + 1))
    assert change["pairs"] >= 4
    assert change["verdict"] == "regressed"
    assert change["baseline"] < change["candidate"]
    assert [change["metric"] for change in same["comparison"]["changes"]] == ["latency", "values"]


@pytest.mark.slow
def test_the_first_regression_ends_the_run_under_x(two: Suite) -> None:
    result = two.run_here(f"--devperf-against={two.old}", *QUICK, "work or same", "-x", "--junitxml=junit.xml")
    assert result.ret == 1
    assert result.parseoutcomes()["failed"] == 1  # unchanged code may have passed before
    assert 'message="latency regressed' in (two.path / "junit.xml").read_text(encoding="utf-8")


def test_a_test_that_the_old_code_fails_is_new(two: Suite) -> None:
    two.pytester.makepyfile(
        test_ab="""
        import measured
        def test_added(devperf):
            devperf(measured.added, 3000)
        """
    )
    result = two.run_here(f"--devperf-against={two.old}", *QUICK, "added")
    # Nothing at all was compared: that is never a pass.
    assert result.ret == 1
    result.assert_outcomes(passed=1)
    assert "the test fails with the old code: AttributeError: " in two.flat(result)
    assert "1 NEW; NOTHING was compared with" in two.last_line(result)


@pytest.mark.slow
def test_code_that_both_sides_import_from_the_checkout_is_reported(two: Suite) -> None:
    (two.path / "measured.py").write_text(NEW)
    result = two.run_here(f"--devperf-against={two.old}", *QUICK, "same")
    assert result.ret == 0
    assert "the old side also imported measured from this checkout" in two.last_line(result)


@pytest.mark.slow
def test_an_interpreter_that_kills_itself_is_reported_and_the_others_go_on(two: Suite) -> None:
    two.pytester.makepyfile(
        test_ab="""
        import os
        import measured
        def test_dies(devperf):
            if not hasattr(measured, "added"):
                os._exit(3)
            devperf(measured.same, 3000)
        def test_same(devperf):
            devperf(measured.same, 3000)
        """
    )
    result = two.run_here(f"--devperf-against={two.old}", *QUICK, "test")
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    assert "the interpreter of the old code died in this case" in two.flat(result)
    assert two.last_line(result).startswith("devperf: 1 NEW, 1 within noise")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda folder: "missing/python", "there is no such interpreter"),
        (str, "is a folder: pass the interpreter in it"),
        (lambda folder: _program(folder, "echo nonsense"), "is not a working Python interpreter: nonsense"),
        (
            lambda folder: _program(
                folder,
                'echo \'{"python": "3.0", "missing": "No module named pytest"}\'',
            ),
            "has no usable pytest (No module named pytest)",
        ),
        (
            lambda folder: _program(folder, 'echo \'{"python": "3.0", "pytest": "8", "missing": "no devperf"}\''),
            "has no usable pytest-devperf",
        ),
        (
            lambda folder: _program(
                folder, 'echo \'{"python": "3.0", "pytest": "8", "devperf": "0.0.1", "handover": 0}\''
            ),
            "handover version 0",
        ),
    ],
)
def test_an_interpreter_that_cannot_take_part_is_refused_before_anything_runs(
    two_cases: Suite, prepare, message: str
) -> None:
    result = two_cases.run(f"--devperf-against={prepare(two_cases.path)}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()
    assert "passed" not in result.stdout.str()


def _program(folder: Path, script: str) -> str:
    path = folder / "old-python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("other", ["--devperf-compare=base", "--devperf-save=base"])
def test_turns_and_saved_runs_do_not_go_together(two_cases: Suite, other: str) -> None:
    result = two_cases.run("--devperf-against=python", other)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--devperf-against=python measures in turns*omit *"])


def test_a_case_on_another_device_has_no_old_code(two_cases: Suite) -> None:
    result = two_cases.run(f"--devperf-against={sys.executable}")
    assert result.ret == 1
    sentence = "one cannot run Python from another environment: use devperf.paired there (all cases)"
    assert f"note: {sentence}" in two_cases.flat(result)


@pytest.mark.parametrize("words", [("-k", "nothing_like_it"), ("--collect-only",)])
def test_if_nothing_is_selected_nothing_is_asked_of_the_interpreter(two_cases: Suite, words) -> None:
    result = two_cases.run("--devperf-against=missing/python", *words)
    assert "INTERNALERROR" not in result.stdout.str()
    assert result.ret in {pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.OK}


@pytest.mark.parametrize("words", [("-k", "nothing_like_it"), ("--collect-only",)])
def test_if_nothing_is_selected_nothing_is_repeated(two_cases: Suite, words) -> None:
    result = two_cases.run("--devperf-aa=3", *words)
    assert "noise of unchanged code" not in result.stdout.str()
    assert result.ret in {pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.OK}


STRANGERS = """
import pathlib, socket

create_server, strangers = socket.create_server, []

def create(address, **how):
    server = create_server(address, **how)
    for data in (b"", b"GET / HTTP/1.1\\r\\n\\r\\n", b"[" * 5000, b'{"secret": null, "side": "old"}\\n', b'{"se'):
        stranger = socket.create_connection(server.getsockname())
        stranger.sendall(data)
        strangers.append(stranger)
    pathlib.Path("strangers").write_text("were here")
    return server

socket.create_server = create
"""


@pytest.mark.slow
def test_other_programs_that_connect_to_the_port_neither_hang_nor_join_a_session(two: Suite) -> None:
    two.pytester.makeconftest(STRANGERS)

    result = two.run_here(f"--devperf-against={two.old}", *QUICK, "work")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["latency regressed: *", "devperf: 1 REGRESSED; *"])
    assert (two.path / "strangers").exists()
