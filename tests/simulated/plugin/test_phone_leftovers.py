"""What a session changes on a phone, and what others left there, as its user reads of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

Session = Any
"""The fixtures' own class; conftest files are not imported."""


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def clocks_of(session: Session) -> dict[str, Any]:
    (case,) = session.cases().values()
    clocks: dict[str, Any] = case["run_context"]["clock_state"]
    return clocks


def test_leftovers_of_another_computer_are_undone_and_reported_before_anything_is_measured(tool: Session) -> None:
    result = tool.run("--devperf-json=run.json", "--devperf-pin-clocks=off", target="sim:pixel-tensor:left-by-another")

    header = flat(result).partition("collected")[0]
    assert result.ret == 0
    assert "Google Pixel 8: an earlier session had left fixed-performance mode and stay-awake; undone" in header
    assert clocks_of(tool)["pinned"] is False


@pytest.mark.parametrize("mishap", ["refuses-restoring", "ignores-restoring"])
def test_a_failed_undo_is_reported_at_the_end(tool: Session, mishap: str) -> None:
    result = tool.run(target=f"sim:pixel-tensor:{mishap}")

    end = flat(result).rpartition("= devperf =")[2]
    assert "Google Pixel 8 still has fixed-performance mode (" in end
    assert "the changes on it are undone at the next start, or by devperf unpin" in end


@pytest.mark.parametrize(
    ("mishap", "words"),
    [
        ("cap-lifts", "accepts fixed-performance mode and does nothing"),
        ("pinning-slips", "accepts fixed-performance mode and releases its clocks by itself"),
    ],
)
def test_clocks_that_only_seem_to_be_held_are_recorded_as_free(tool: Session, mishap: str, words: str) -> None:
    result = tool.run("--devperf-json=run.json", target=f"sim:pixel-tensor:{mishap}")

    assert f"Google Pixel 8 {words}" in flat(result).partition("collected")[0]
    assert clocks_of(tool)["pinned"] is False


def test_files_that_stay_on_the_phone_are_reported_with_their_limit(tool: Session) -> None:
    result = tool.run()

    assert re.search(r"Google Pixel 8 keeps \d pushed files? \(0\.\d MiB\) for 7 days", flat(result))
