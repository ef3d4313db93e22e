"""A file that an option names never moves pytest's root folder, and with it every case's id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite


@pytest.fixture
def elsewhere(suite: Suite) -> str:
    """A run document outside the project, in another project's folders."""
    suite.pytester.makepyfile(**{"tests/test_it": "def work(): pass\ndef test_a(devperf): devperf(work)\n"})
    outside = suite.path.parent / f"{suite.path.name}-elsewhere"
    outside.mkdir()
    suite.run("--devperf", f"--devperf-json={outside / 'run.json'}")
    return str(outside / "run.json")


def test_a_file_in_a_separate_argument_that_changes_the_root_folder_is_refused(suite: Suite, elsewhere: str) -> None:
    result = suite.run("--devperf-compare", elsewhere)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"*pytest took the {elsewhere} after --devperf-compare for a path of tests*={elsewhere} as one argument*"]
    )


def test_options_from_the_environment_are_seen_too(
    suite: Suite, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--devperf-compare {elsewhere}")

    assert suite.run().ret == pytest.ExitCode.USAGE_ERROR


def test_in_one_word_the_same_file_is_compared_with(suite: Suite, elsewhere: str) -> None:
    result = suite.run(f"--devperf-compare={elsewhere}")

    assert result.ret == 0
    assert "1 within noise" in suite.last_line(result)


def test_a_separate_argument_that_changes_nothing_is_accepted(suite: Suite, elsewhere: str) -> None:
    (suite.path / "run.json").write_bytes((suite.path.parent / elsewhere).read_bytes())
    (suite.path / "base").mkdir()

    assert suite.run("tests", "--devperf-compare", "run.json").ret == 0
    assert suite.run("tests", "--devperf-compare", elsewhere).ret == 0, "the ini file is found from the other path"
    assert suite.run("tests", "--devperf-save", "base").ret == 0
    assert suite.run("--devperf-compare", "base").ret == 0


def test_a_root_folder_that_the_user_names_is_not_moved_by_anything(suite: Suite, elsewhere: str) -> None:
    result = suite.run(f"--rootdir={suite.path}", "-c", "tox.ini", "--devperf-compare", elsewhere)

    assert result.ret == 0
