"""No verb prints control characters from a store."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import ESCAPES, hostile, is_harmless
from msgspec.structs import replace

from pytest_devperf.cli import main
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Commit, Document, SkippedMethod

GENERATION = "2026-11-01T08:00:00Z"


@pytest.fixture
def saved(store, make_run):
    """Three runs of one label, hostile in every text."""
    for day in (1, 2, 3):
        made = make_run(day=day, fast=1.0 + day / 100)
        case = replace(
            made.cases[0],
            sweep="sizes",
            cautions=("low-battery",),
            caution_notes={"low-battery": "battery at 21 %"},
            skipped_methods=(SkippedMethod(method="other", reason="no bound"),),
        )
        commit = Commit(id=f"{day:02}abcdef012345", dirty=True, branch="main")
        store.save(hostile(replace(made, generation=GENERATION, commit=commit, cases=(case,))))
    return store


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "-v"],
        ["show", f"main{ESCAPES}"],
        ["show", f"main{ESCAPES}", "-v"],
        ["show", "nothing"],
        ["show", f"no{ESCAPES}.json"],
        ["history", "fast"],
        ["history", "fast", "--label", f"no{ESCAPES}"],
        ["history", f"no{ESCAPES}"],
        ["noise", f"main{ESCAPES}"],
        ["noise", f"no{ESCAPES}"],
        ["compare", f"main{ESCAPES}", "--to", f"main{ESCAPES}"],
        ["compare", "file.json", "--to", f"main{ESCAPES}"],
        [f"no{ESCAPES}"],
    ],
)
def test_no_verb_prints_an_escape(saved, capsys, words, make_run):
    Path("file.json").write_bytes(encode(Document(runs=(hostile(make_run(day=9, fast=1.0)),))))

    main(words)

    shown = capsys.readouterr()
    assert shown.out or shown.err
    assert is_harmless(shown.out)
    assert is_harmless(shown.err)


def test_a_damaged_file_of_a_hostile_name_is_named_without_escapes(store, make_run, capsys):
    folder = Path(store.save(make_run(fast=1.0))).parent
    (folder / "2026-12-01T00-00-00Z-x.json").write_text('{"schema": "pytest-devperf/1", "runs": [{"id": "\x1b[2J"}]}')
    Path(f"x{ESCAPES.replace('/', '')}.json").write_text("{")

    assert main(["list"]) == 4
    assert main(["show", f"./x{ESCAPES}.json"]) == 4
    assert is_harmless(capsys.readouterr().err)
