"""A session on a phone that was ended is resumed on the same phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_devperf.session.running.driven import Driven

Session = Any
"""The fixtures' own class; conftest files are not imported."""

LONGER = ("--devperf-rounds=6", "--devperf-processes=3", "--devperf-save=base", "--devperf-json=run.json")


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def ending_after(count: int) -> Any:
    """Let the user end a session once some of its later process starts are done."""
    run = Driven.run

    def running(self: Driven, *args: Any) -> Iterator[Any]:
        nonlocal count
        for found in run(self, *args):
            if count == 0:
                pytest.exit("ended by the user")
            count -= 1
            yield found

    return running


def test_an_app_resumes_at_its_place(app: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Driven, "run", ending_after(3))
        ended = app.run(*LONGER)
    assert "the same command with --devperf-resume goes on with it" in flat(ended)
    assert app.saved() == []

    resumed = app.run(*LONGER, "--devperf-resume")

    assert resumed.ret == 0
    assert len(app.saved()) == 1
    assert [case["metrics"][0]["process"] for case in app.cases().values()] == [[0, 0, 1, 1, 2, 2]] * 2
    # The last launch of the first session had reported one of both cases: it is asked for the other one.
    assert [launch["done"] for launch in app.launches] == [[], [], [], ["sort"]] or [
        launch["done"] for launch in app.launches
    ] == [[], [], [], ["decode"]]
