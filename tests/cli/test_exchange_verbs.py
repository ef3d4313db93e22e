"""`devperf import` saves what other tools wrote, `devperf export` writes what they read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.fuzz.seeds import IMPORTS
from pytest_devperf.cli import main
from pytest_devperf.cli.command import VERBS, module_of
from pytest_devperf.targets.host.identity import read_device


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(IMPORTS[0], encoding="utf-8")
    return tmp_path


def test_an_imported_file_is_a_labelled_run_of_the_machine_it_describes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--format", "pytest-benchmark", "a.json"]) == 0
    assert "imported 2 cases of pytest-benchmark as imported" in capsys.readouterr().out
    assert main(["show", "imported"]) == 0
    shown = capsys.readouterr().out
    assert "test_it.py::test_sort" in shown
    assert "caution imported" in shown
    assert "AMD EPYC" in shown


def test_here_makes_it_a_run_of_this_machine_and_each_file_joins_one_generation(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    (here / "b.json").write_text(IMPORTS[0], encoding="utf-8")
    words = ["import", "--format", "pytest-benchmark", "--label", "old", "--here", "a.json", "b.json"]
    assert main(words) == 0
    capsys.readouterr()
    assert main(["export", "--format", "json", "old"]) == 0
    run = json.loads(capsys.readouterr().out)["runs"][0]
    assert run["device"]["fingerprint"] == read_device().fingerprint
    generations = {json.loads(each.read_text())["runs"][0]["generation"] for each in here.glob(".devperf/*/old/*.json")}
    assert len(generations) == 1


def test_a_bad_file_among_good_ones_saves_nothing(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "b.json").write_text("{}", encoding="utf-8")
    assert main(["import", "--format", "pytest-benchmark", "a.json", "b.json"]) == 4
    error = capsys.readouterr().err
    assert error.startswith("devperf import: b.json: the output of pytest-benchmark ")
    assert error.count("\n") == 1
    assert not (here / ".devperf").exists()


def test_an_export_goes_to_a_file(here: Path) -> None:
    assert main(["import", "--format", "pytest-benchmark", "a.json"]) == 0
    assert main(["export", "--format", "benchmark-action", "imported", "-o", "out.json"]) == 0
    assert len(json.loads((here / "out.json").read_text())) == 2


def test_every_verb_has_examples_that_begin_with_the_command() -> None:
    for verb in VERBS:
        examples = module_of(verb).EXAMPLES
        assert examples
        assert all(f"devperf {verb}" in example for example in examples), verb
