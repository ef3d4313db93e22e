"""Commands of a session on a phone: where they run, and what lies there."""

from __future__ import annotations

from typing import Any

import pytest

Session = Any
"""The fixtures' own class; conftest files are not imported."""


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


@pytest.fixture
def files(session: Session) -> Session:
    (session.path / "data.txt").write_text("11\n")
    (session.path / "sub").mkdir()
    (session.path / "sub" / "data2.txt").write_text("22\n")
    return session


def command(session: Session, arguments: str) -> None:
    session.pytester.makepyfile(test_tool=f"def test_tool(devperf):\n    devperf.command({arguments})\n")


@pytest.mark.parametrize("target", ["sim", "host"])
@pytest.mark.parametrize(
    "arguments",
    [
        "['cat', 'data.txt'], push=['data.txt']",
        "['cat', 'sub/data2.txt'], push=['sub/data2.txt']",
        "['cat', 'sub/data2.txt'], push=['sub']",
        "['cat', 'data2.txt'], push=['sub'], cwd='sub'",
        "['sh', '-c', 'cat data.txt sub/data2.txt'], push=['data.txt', 'sub/data2.txt']",
    ],
)
def test_what_was_pushed_is_found_by_the_same_path_on_a_phone_and_here(
    files: Session, target: str, arguments: str
) -> None:
    command(files, arguments)

    assert files.run(target=target).ret == 0


def test_a_file_of_a_sub_folder_lies_beside_the_command_too(files: Session) -> None:
    command(files, "['sh', '-c', 'cat data2.txt; ls'], push=['sub/data2.txt'], read=lambda text: [len(text)]")

    assert files.run().ret == 0


@pytest.mark.parametrize("arguments", ["['cat', 'data.txt']", "['cat', 'data.txt'], push=['sub']"])
def test_what_was_not_pushed_is_not_there(files: Session, arguments: str) -> None:
    command(files, arguments)

    result = files.run()

    assert result.ret == 1
    assert "data.txt" in flat(result)
    assert "No such file" in flat(result)


def test_a_folder_that_the_phone_does_not_have_fails_the_case(files: Session) -> None:
    command(files, "['echo', '1'], cwd='sub'")

    result = files.run()

    assert result.ret == 1
    assert "sub" in flat(result)


def test_a_path_of_this_machine_means_nothing_on_a_phone_and_the_remedy_is_named(files: Session) -> None:
    command(files, "['sh', '-c', 'cat $0', __file__]")

    result = files.run()

    assert result.ret == 1
    assert f"{files.path / 'test_tool.py'} is a file of this machine: push it and name it test_tool.py" in flat(result)


@pytest.mark.parametrize("target", ["sim", "host"])
def test_a_program_that_takes_no_iterations_is_timed_as_a_whole_wherever_it_runs(session: Session, target: str) -> None:
    command(session, "['sleep', '0.2']")

    result = session.run("--devperf-json=run.json", target=target)

    result.assert_outcomes(passed=1)
    (case,) = session.cases().values()
    (latency,) = [metric for metric in case["metrics"] if metric["name"] == "latency"]
    assert {len(row) for row in latency["samples_ns"]} == {1}
    assert latency["robust"] >= 200  # ms
    assert "whole-program" in case["cautions"]
