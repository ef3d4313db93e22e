"""`devperf report`: saved runs as HTML and Markdown."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from pytest_devperf.cli import main
from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import index
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Document


@pytest.fixture
def two_runs(store, make_run):
    """A saved baseline, and a run in which one case became slower."""
    store.save(make_run(day=1, fast=1.0, steady=2.0))
    now = make_run("now", day=2, fast=1.3, steady=2.0)
    store.save(now)
    return now


def numbers(page: str) -> dict:
    return json.loads(page.partition('id="numbers">')[2].partition("</script>")[0])


def test_a_label_is_written_as_html_with_its_baseline(two_runs, tmp_path):
    assert main(["report", "now", "--baseline", "main", "-o", "out/report.html"]) == 0

    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert '<h1 class="bad">1 of 2 cases regressed</h1>' in page
    assert "360 values in the baseline" in page
    assert all("before" in each for each in numbers(page).values())


def test_without_a_run_it_is_the_newest_of_each_device(two_runs, store, make_run, tmp_path):
    other = replace(two_runs.device, fingerprint="f" * 12, soc="Other CPU")
    store.save(make_run("older", day=1, device=other, elsewhere=1.0))

    assert main(["report", "-o", "report.html"]) == 0

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "3 cases measured" in page
    assert "now, 2026-11-02T08:00:00Z" in page
    assert "on Other CPU" in page


def test_the_end_of_the_name_decides_on_the_format(two_runs, tmp_path):
    assert main(["report", "now", "--baseline", "main", "-o", "report.md"]) == 0

    assert "## Performance: 1 of 2 cases regressed" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_markdown_goes_to_standard_output_for_a_step_summary(two_runs, capsys):
    assert main(["report", "now", "--baseline", "main", "-o", "-", "--format", "markdown"]) == 0

    assert capsys.readouterr().out.startswith("<!-- pytest-devperf -->\n## Performance: 1 of 2 cases regressed\n")


def test_comparisons_that_a_document_holds_are_shown_beside_the_saved_runs_that_served(two_runs, store, tmp_path):
    before = index(store.runs(two_runs.device.fingerprint, "main"), two_runs.device.fingerprint)
    cases = tuple(
        replace(each, comparison=compare(each, before[each.id], Policy(confirm=False))) for each in two_runs.cases
    )
    (tmp_path / "run.json").write_bytes(encode(Document(runs=(replace(two_runs, cases=cases),))))

    assert main(["report", "run.json", "-o", "report.html"]) == 0

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 of 2 cases regressed" in page
    assert "360 values in the baseline" in page


def test_a_history_has_the_runs_of_the_label_and_the_one_that_is_shown(two_runs, store, make_run, tmp_path):
    store.save(make_run(day=3, fast=1.0, steady=2.0))

    assert main(["report", "now", "--history", "main", "-o", "report.html"]) == 0

    pasts = [each for name, each in numbers((tmp_path / "report.html").read_text()).items() if name.startswith("past-")]
    assert [len(each["mid"]) for each in pasts] == [3, 3]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["now", "-o", "report.txt"], "write FILE.html or FILE.md, or add --format html|markdown"),
        (["now", "-o", "-"], "write FILE.html or FILE.md, or add --format html|markdown"),
        (["now", "-o", ""], "needs a value that is not empty"),
        (["now"], "-o/--output"),
        (["none", "-o", "r.html"], "no label or run named 'none'"),
        (["-o", "r.html", "--store", "empty"], "empty has no run: save one with pytest --devperf-save LABEL"),
        (["now", "--baseline", "none", "-o", "r.html"], "no label or run named 'none'"),
        (["now", "--history", "none", "-o", "r.html"], "has no other run with this label"),
        (["now", "--baseline", "main", "--accept", "none", "-o", "r.html"], "no caution named 'none'"),
    ],
)
def test_a_write_error_is_reported_in_one_line(two_runs, capsys, tmp_path, words, problem):
    try:
        code = main(["report", *words])
    except SystemExit as ended:
        code = ended.code

    assert code == 4
    assert problem in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.glob("r*"))


def test_a_file_that_cannot_be_written_is_named(two_runs, tmp_path, capsys):
    (tmp_path / "report.html").mkdir()

    assert main(["report", "now", "-o", "report.html"]) == 4
    assert "report.html" in capsys.readouterr().err
