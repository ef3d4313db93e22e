"""In GitHub Actions a session writes a step summary and annotations by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.report.github import MOST_ANNOTATIONS, Annotation, format_annotation, without_command
from pytest_devperf.report.markdown.text import SUMMARY_BYTES
from pytest_devperf.report.report import Report
from pytest_devperf.session.kept.step_summary import StepSummary, find_step_summary

if TYPE_CHECKING:
    from conftest import Suite


@pytest.fixture
def step(two_cases: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite in which a function has become slower, in a step of a workflow."""
    two_cases.takes(fast=1_000_000, slow=2_000_000)
    two_cases.run("--devperf-save=base")
    two_cases.takes(fast=1_000_000, slow=3_000_000)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(two_cases.path.parent))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(two_cases.path / "summary.md"))
    return two_cases


def annotations(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("::")]


def summary(suite: Suite) -> str:
    return (suite.path / "summary.md").read_text(encoding="utf-8")


def test_a_regression_is_annotated_at_its_test_and_summed_up(step: Suite) -> None:
    result = step.run("--devperf-compare=base")

    (line,) = annotations(result)
    where = f"file={step.path.name}/test_two.py,line=10,title=REGRESSED test_two.py%3A%3Atest_slow"
    assert line.startswith(f"::error {where}::latency regressed: 2.0")
    assert "%25)" in line
    assert "## Performance: 1 of 2 cases regressed" in summary(step)


def test_what_the_step_summed_up_before_is_kept(step: Suite) -> None:
    (step.path / "summary.md").write_text("# Mine\nno line break at the end")

    step.run("--devperf-compare=base")
    step.run("--devperf-compare=base")

    assert summary(step).startswith("# Mine\nno line break at the end\n<!-- pytest-devperf -->\n## Performance")
    assert summary(step).count("## Performance") == 2


@pytest.mark.parametrize("how", ["option", "ini"])
def test_both_can_be_turned_off(step: Suite, how: str) -> None:
    if how == "ini":
        step.ini("devperf_no_github = true")

    result = step.run("--devperf-compare=base", *(["--devperf-no-github"] if how == "option" else []))

    assert annotations(result) == []
    assert not (step.path / "summary.md").exists()


def test_elsewhere_nothing_of_it_happens(step: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")

    assert annotations(step.run("--devperf-compare=base")) == []
    assert not (step.path / "summary.md").exists()


def test_a_session_without_cases_writes_no_summary(step: Suite) -> None:
    step.run("--devperf", "-k", "ordinary")

    assert not (step.path / "summary.md").exists()


def test_a_summary_that_cannot_be_written_is_named_and_fails_nothing(
    step: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step.path))

    result = step.run("--devperf")

    assert result.ret == 0
    assert f"the step summary {step.path} was not written (is a directory)" in step.flat(result)


def test_a_summary_stays_below_the_limit_of_github(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (SUMMARY_BYTES - 100))

    sentence = StepSummary(path).append(Report())

    assert sentence == "the step summary was not written: it has 1,048,476 bytes already, of at most 1,048,576"
    assert path.stat().st_size == SUMMARY_BYTES - 100


def test_a_summary_needs_its_path() -> None:
    assert find_step_summary({"GITHUB_ACTIONS": "true"}) is None
    assert find_step_summary({"GITHUB_STEP_SUMMARY": "summary.md"}) is None


FAILING = """
import pytest

def work():
    pass

@pytest.fixture
def broken():
    raise ValueError("first line\\nsecond :: line")

def test_setup(devperf, broken):
    devperf(work)

def test_body(devperf):
    devperf(work)
    assert 1 == 2, "100 % wrong"

def test_ordinary():
    assert 0
"""


def test_cases_that_fail_by_themselves_are_annotated_at_their_line_and_other_tests_are_not(step: Suite) -> None:
    step.pytester.makepyfile(test_two=FAILING)

    result = step.run("--devperf")

    first, second = annotations(result)
    file = f"file={step.path.name}/test_two.py"
    title = "title=FAILED test_two.py%3A%3Atest"
    assert first == f"::error {file},line=8,{title}_setup::ValueError: first line%0Asecond :: line"
    assert second.startswith(f"::error {file},line=15,{title}_body::AssertionError: 100 %25 wrong%0Aassert 1 == 2")


HOSTILE = """
import pytest

def work():
    pass

@pytest.mark.parametrize("name", ["a\\n::error::b", "<b>|`x`", "##[add-mask]x", "a,b:c%0A"])
def test_it(devperf, name):
    devperf(work)
    assert 0, f"{name}\\x1b[31m"

@pytest.mark.devperf(id="::stop-commands::x")
def test_id():
    pass
"""


def test_names_give_no_commands_to_the_runner(step: Suite) -> None:
    step.pytester.makepyfile(test_two=HOSTILE)

    result = step.run("--devperf")

    lines = result.outlines
    first = next(at for at, line in enumerate(lines) if "= devperf =" in line)
    last = next(at for at, line in enumerate(lines) if "short test summary" in line)
    ours = lines[first:last]  # pytest writes the rest
    commands = [line for line in ours if line.lstrip().startswith("::") or "##[" in line]
    assert len(commands) == 4
    assert all(line.startswith("::error file=") for line in commands[:4])
    assert not any("\\x1b[31m" not in line or "\x1b" in line for line in commands)
    assert "title=FAILED test_two.py%3A%3Atest_it[a%2Cb%3Ac%250A]" in commands[3]
    assert "<b>" not in summary(step)


def test_no_more_annotations_than_github_shows(step: Suite) -> None:
    step.pytester.makepyfile(
        test_two="import pytest\ndef work(): pass\n@pytest.mark.parametrize('n', range(15))\n"
        "def test_it(devperf, n):\n    devperf(work)\n    assert 0\n"
    )

    assert len(annotations(step.run("--devperf"))) == MOST_ANNOTATIONS


def test_a_file_outside_the_repository_is_left_out() -> None:
    assert format_annotation(Annotation(title="a", message="b")) == "::error title=a::b"


@pytest.mark.parametrize("line", ["::set-output name=x::y", "   ::add-mask::y", "text ##[error]y"])
def test_a_line_that_the_runner_would_obey_is_changed_invisibly(line: str) -> None:
    safe = without_command(line)

    assert not safe.lstrip().startswith("::")
    assert "##[" not in safe
    assert safe.replace("\N{WORD JOINER}", "") == line
