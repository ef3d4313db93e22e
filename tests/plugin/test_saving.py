"""What is kept, under which name, and what keeps a baseline from becoming worse."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.record.codec import decode

if TYPE_CHECKING:
    from conftest import Suite

USAGE = pytest.ExitCode.USAGE_ERROR
BOTH = ("--devperf-save=base", "--devperf-compare=base")


def _run(path: Path) -> dict[str, Any]:
    (run,) = json.loads(path.read_text(encoding="utf-8"))["runs"]
    return run


def _robust(path: Path, case: str) -> float:
    return next(each["metrics"][0]["robust"] for each in _run(path)["cases"] if each["id"].endswith(case))


# -- generations -------------------------------------------------------------------------------------


def test_a_save_starts_a_new_generation_that_is_compared_with_alone(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=2_000_000)
    two_cases.run("--devperf-save=base")
    first, second = two_cases.saved()
    assert _run(first)["generation"] < _run(second)["generation"]
    two_cases.takes(slow=2_000_000)
    result = two_cases.run("--devperf-compare=base")
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: 2 within noise; compared with base"


@pytest.mark.parametrize("where", [".", "deep/er"])
def test_a_save_shows_the_path_of_the_run(two_cases: Suite, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    folder = two_cases.path / where
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    result = two_cases.run("--devperf-save=base", f"--rootdir={two_cases.path}", str(two_cases.path))
    (shown,) = (line for line in result.outlines if line.startswith("saved in "))
    path = shown.removeprefix("saved in ")
    assert not Path(path).is_absolute()
    assert [(folder / path).resolve()] == two_cases.saved()


def test_an_appended_run_joins_the_newest_generation(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.run("--devperf-save=base", "--devperf-append")
    first, second = two_cases.saved()
    assert _run(first)["generation"] == _run(second)["generation"]
    two_cases.run("--devperf-compare=base", "--devperf-json=run.json")
    (case, _) = two_cases.cases().values()
    assert sorted(case["comparison"]["baseline_runs"]) == sorted(
        run["id"] for run in (_run(first), _run(second)) if run.get("id")
    )


def test_a_saved_run_has_all_its_rounds_in_six_process_starts(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    run = _run(two_cases.saved()[0])
    assert run["settings"]["processes"] == 6
    for case in run["cases"]:
        assert case["metrics"][0]["process"] == [process for process in range(6) for _ in range(2)]
        assert [len(samples) for samples in case["metrics"][0]["samples_ns"]] == [30] * 12
        assert "comparison" not in case or case["comparison"] is None


def test_two_saves_within_one_second_are_two_runs(two_cases: Suite) -> None:
    for _ in range(2):
        two_cases.run("--devperf-save=base")
    assert len(two_cases.saved()) == 2


# -- saving and comparing at once --------------------------------------------------------------------


def test_the_first_run_of_a_label_is_all_new_and_saved_and_passes(two_cases: Suite) -> None:
    result = two_cases.run(*BOTH)
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: 2 NEW; there is no run of base to compare with yet; saved as base"
    assert len(two_cases.saved()) == 1


def test_the_first_run_of_a_label_may_skip_cases(two_cases: Suite) -> None:
    source = two_cases.path / "test_two.py"
    source.write_text("import pytest\n" + source.read_text().replace("assert devperf(slow) == 2", "pytest.skip('x')"))
    result = two_cases.run(*BOTH)
    assert result.ret == 0
    assert two_cases.last_line(result) == (
        "devperf: 1 NEW, 1 SKIPPED; there is no run of base to compare with yet; saved as base"
    )


def test_a_regressed_case_keeps_its_old_baseline_and_the_last_line_reports_it(two_cases: Suite) -> None:
    two_cases.run(*BOTH)
    two_cases.takes(slow=1_500_000, fast=990_000)
    result = two_cases.run(*BOTH)
    assert result.ret == 1
    assert two_cases.last_line(result).endswith("saved as base (1 regressed kept their old baseline)")
    first, second = two_cases.saved()
    assert _robust(second, "test_slow") == _robust(first, "test_slow")
    assert _robust(second, "test_fast") < _robust(first, "test_fast")
    again = two_cases.run("--devperf-compare=base")
    assert "1 REGRESSED" in two_cases.last_line(again)


def test_a_regressed_case_is_saved_if_the_user_requests_it(two_cases: Suite) -> None:
    two_cases.run(*BOTH)
    two_cases.takes(slow=1_500_000)
    result = two_cases.run(*BOTH, "--devperf-save-regressed")
    assert result.ret == 1
    assert two_cases.run("--devperf-compare=base").ret == 0


def test_a_case_that_failed_keeps_its_old_baseline(two_cases: Suite) -> None:
    two_cases.run(*BOTH)
    source = two_cases.path / "test_two.py"
    good = source.read_text()
    source.write_text(good.replace("devperf(slow) == 2", "devperf(slow) == 333"))
    assert two_cases.run(*BOTH).ret == 1
    source.write_text(good)
    two_cases.takes(slow=1_500_000)
    again = two_cases.run("--devperf-compare=base")
    assert two_cases.last_line(again) == "devperf: 1 REGRESSED, 1 within noise; compared with base"


def test_an_appended_run_leaves_regressed_cases_out(two_cases: Suite) -> None:
    two_cases.run(*BOTH)
    two_cases.takes(slow=1_500_000)
    two_cases.run(*BOTH, "--devperf-append")
    assert [case["id"] for case in _run(two_cases.saved()[-1])["cases"]] == ["test_two.py::test_fast"]
    again = two_cases.run("--devperf-compare=base")
    assert two_cases.last_line(again) == "devperf: 1 REGRESSED, 1 within noise; compared with base"


def test_a_run_that_will_refuse_comparison_reports_it_when_it_is_saved(two_cases: Suite) -> None:
    two_cases.takes(context={"throttled": True})
    result = two_cases.run("--devperf-save=base")
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: 2 measured; saved, but will refuse comparison: throttled"


def test_appending_needs_a_label_to_append_to(two_cases: Suite) -> None:
    result = two_cases.run("--devperf", "--devperf-append")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*--devperf-append needs --devperf-save=LABEL*"])


def test_a_run_that_is_cut_short_is_not_saved_over_a_whole_one(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    source = two_cases.path / "test_two.py"
    # Another size too: byte code of the first text is not used for the second if both are of one second.
    source.write_text(source.read_text().replace("assert devperf(fast) == 1", "assert devperf(fast) == 20"))
    result = two_cases.run("--devperf-save=base", "-x")
    assert result.ret == 1
    assert len(two_cases.saved()) == 1


# -- places that cannot keep anything ----------------------------------------------------------------


@pytest.mark.parametrize("where", ["store", "store/deeper"])
def test_a_store_that_is_a_file_is_refused_before_anything_is_measured(two_cases: Suite, where: str) -> None:
    (two_cases.path / "store").write_text("here")
    result = two_cases.run("--devperf-save=base", f"--devperf-store={where}")
    assert result.ret == USAGE
    assert len([line for line in result.errlines if line.startswith("ERROR")]) == 1
    result.stderr.fnmatch_lines(["*store*file*"])
    assert "passed" not in result.stdout.str()
    assert (two_cases.path / "store").read_text() == "here"


def test_a_store_that_cannot_be_written_is_refused_before_anything_is_measured(
    two_cases: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if ".devperf" in str(self):
            raise OSError(28, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    result = two_cases.run("--devperf-save=base")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*.devperf cannot be written (no space left on device): free space*"])
    assert not (two_cases.path / ".devperf").exists()


def test_a_disk_that_fills_up_meanwhile_is_reported_and_fails_the_run(
    two_cases: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_cases.run("--devperf-save=base")
    before = two_cases.saved()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = two_cases.run("--devperf-save=base")
    assert result.ret == 1
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["NOT SAVED:*", "*no space left on device*"])
    assert "saved as base" not in two_cases.last_line(result)
    assert two_cases.saved() == before


@pytest.mark.usefixtures("ordinary_rights")
def test_a_read_only_store_is_refused_before_anything_is_measured(two_cases: Suite) -> None:
    (two_cases.path / "store").mkdir(mode=0o500)
    result = two_cases.run("--devperf-save=base", "--devperf-store=store")
    assert result.ret == USAGE


@pytest.mark.parametrize("where", ["nowhere/run.json", "."])
def test_a_document_that_cannot_be_written_is_refused_before_anything_is_measured(two_cases: Suite, where: str) -> None:
    result = two_cases.run("--devperf", f"--devperf-json={where}")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([f"*--devperf-json={where}*name a file in a folder that exists*"])
    assert "passed" not in result.stdout.str()


def test_a_document_in_the_home_of_an_unknown_user_is_refused_before_anything_is_measured(two_cases: Suite) -> None:
    result = two_cases.run("--devperf", "--devperf-json=~nobody-of-this-name/run.json")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*--devperf-json '~nobody-of-this-name/run.json': there is no such user*"])
    assert "passed" not in result.stdout.str()


LABELS = [
    "x" * 260,
    "../../etc/passwd",
    "feature/x",
    "base.json",
    "a b\tc",
    "naïve ☃",
    "CON",
    "$(touch owned)",
    "--devperf",
    "base\n",
]


@pytest.mark.parametrize("label", LABELS, ids=range(len(LABELS)))
def test_any_label_is_kept_inside_the_store_and_found_again(two_cases: Suite, label: str) -> None:
    saved = two_cases.run(f"--devperf-save={label}", "-k", "fast")
    assert saved.ret == 0
    (path,) = two_cases.saved()
    assert _run(path)["label"] == label
    assert not list(two_cases.path.glob("*owned*"))
    assert two_cases.run(f"--devperf-compare={label}", "-k", "fast").ret == 0
    assert two_cases.run(f"--devperf-save={label}2", f"--devperf-compare={label}2", "-k", "fast").ret == 0


def test_a_file_that_is_there_goes_before_a_label_of_its_name(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=run.json", "--devperf-json=run.json")
    (two_cases.path / "run.json").write_text("[]")
    result = two_cases.run("--devperf-compare=run.json")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*run.json is not a pytest-devperf run document*"])


# -- ids -----------------------------------------------------------------------------------------------

HOSTILE = ["x" * 300, "ünïcödé ☃", "a::b", "line\nbreak", "'quo\"ted'", "$(touch owned)", "[x]", "nul\0", "-k", "@f"]


def test_ids_of_any_length_and_characters_are_kept_and_met_again(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_ids=f"""
        import pytest
        def work(): pass
        @pytest.mark.parametrize("x", {list(range(len(HOSTILE)))}, ids={HOSTILE!r})
        def test_it(devperf, x): devperf(work)
        """
    )
    assert suite.run("--devperf-save=base").ret == 0
    result = suite.run("--devperf-compare=base", "--junitxml=junit.xml", "--devperf-json=run.json")
    assert result.ret == 0
    assert suite.last_line(result) == f"devperf: {len(HOSTILE)} within noise; compared with base"
    assert len(suite.cases()) == len(HOSTILE)


def test_an_explicit_id_survives_renaming(suite: Suite) -> None:
    source = "import pytest\ndef work(): pass\n@pytest.mark.devperf(id='the work')\ndef test_{}(devperf): devperf(work)"
    suite.pytester.makepyfile(test_it=source.format("old"))
    suite.run("--devperf-save=base")
    (suite.path / "test_it.py").unlink()
    suite.pytester.makepyfile(test_other=source.format("new"))
    result = suite.run("--devperf-compare=base", "--devperf-json=run.json")
    assert result.ret == 0
    assert list(suite.cases()) == ["the work"]


# -- the run document ----------------------------------------------------------------------------------


def test_the_run_document_holds_raw_samples_context_and_comparison(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=1_500_000)
    two_cases.run("--devperf-compare=base", "--devperf-json=run.json")
    data = (two_cases.path / "run.json").read_bytes()
    (run,) = decode(data, "run.json").runs
    assert run.device.kind == "virtual"
    plain = two_cases.document()
    assert plain["schema"] == "pytest-devperf/1"
    case = two_cases.cases()["test_two.py::test_slow"]
    metric = case["metrics"][0]
    assert (metric["name"], metric["unit"], metric["better"], metric["main"]) == ("latency", "ms", "lower", True)
    assert len(metric["samples_ns"]) == len(metric["process"]) == len(metric["anchor_ns"]) == 12
    assert all(isinstance(sample, int) for row in metric["samples_ns"] for sample in row)
    assert metric["robust"] == pytest.approx(1.5, rel=0.01)
    assert set(metric["summary"]) == {"mean", "p50", "p90", "p99", "min", "max", "std", "per_s"}
    assert case["stable"]["quality"] == "STABLE"
    assert set(case["run_context"]) >= {"temp_start_c", "throttled", "clock_state", "power_state", "during", "env"}
    (change,) = case["comparison"]["changes"]
    assert case["comparison"]["verdict"] == change["verdict"] == "regressed"
    assert change["confirmed"] is True
    assert change["delta_pct"] == pytest.approx(50, abs=1)
    assert metric["confirmation"]["samples_ns"]
    assert case["run_context"]["comparable_to_baseline"] is True


def test_the_run_document_names_missing_cases(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    source = two_cases.path / "test_two.py"
    source.write_text(source.read_text().replace("test_slow", "test_renamed"))
    two_cases.run("--devperf-compare=base", "--devperf-json=run.json")
    assert two_cases.document()["runs"][0]["missing"] == ["test_two.py::test_slow"]


def test_a_run_document_serves_as_a_baseline(two_cases: Suite) -> None:
    two_cases.run("--devperf", "--devperf-json=run.json")
    two_cases.takes(slow=1_500_000)
    result = two_cases.run("--devperf-compare=run.json")
    assert result.ret == 1
    assert two_cases.last_line(result) == "devperf: 1 REGRESSED, 1 within noise; compared with run.json"


def test_a_save_names_the_cases_it_leaves_behind(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    result = two_cases.run("--devperf-save=base", "-k", "fast")
    assert result.ret == 0
    text = " ".join(line.strip() for line in result.outlines)
    assert "1 earlier case of base not in this run, so NEW in the next comparison (test_two.py::test_slow)" in text
    joined = two_cases.run("--devperf-save=base", "--devperf-append", "-k", "slow")
    assert "had no part" not in joined.stdout.str()


@pytest.mark.parametrize(("slower", "advice"), [(1.1, "let it rest between rounds"), (1.5, "let the device cool down")])
def test_a_grade_that_is_not_the_best_shows_advice(two_cases: Suite, slower: float, advice: str) -> None:
    two_cases.takes(**{"slow@1": round(slower * 1_000_000)})
    text = two_cases.flat(two_cases.run("--devperf-save=base", "--devperf-processes=6"))
    assert advice in text
    assert "--devperf-round-cooldown" in text
