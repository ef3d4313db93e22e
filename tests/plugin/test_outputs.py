"""Reports that a session writes at its end: `--devperf-html`, `--devperf-markdown`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Suite

USAGE = pytest.ExitCode.USAGE_ERROR


@pytest.fixture
def slower(two_cases: Suite) -> Suite:
    """A suite with a saved baseline, and a function that has become slower since."""
    two_cases.takes(fast=1_000_000, slow=2_000_000)
    two_cases.run("--devperf-save=base")
    two_cases.takes(fast=1_000_000, slow=3_000_000)
    return two_cases


def alone(suite: Suite, *words: str) -> subprocess.CompletedProcess[str]:
    """Run pytest by itself, its two outputs apart."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "pytest_devperf.plugin", "--devperf", *words],
        cwd=suite.path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        text=True,
    )


def numbers(page: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(page.partition('id="numbers">')[2].partition("</script>")[0])
    return found


def pasts_in(page: str) -> list[dict[str, Any]]:
    """Return the numbers of the histories on a page."""
    return [each for name, each in numbers(page).items() if name.startswith("past-")]


def test_a_session_writes_its_reports_beside_its_document(slower: Suite) -> None:
    result = slower.run(
        "--devperf-compare=base",
        "--devperf-html=report.html",
        "--devperf-markdown=report.md",
        "--devperf-json=run.json",
    )

    page, text = ((slower.path / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    assert result.ret == 1
    assert '<h1 class="bad">1 of 2 cases regressed</h1>' in page
    rounds = [each for name, each in numbers(page).items() if not name.startswith("past-")]
    assert rounds
    assert all("before" in each for each in rounds), "distributions stand beside the baseline's"
    assert "## Performance: 1 of 2 cases regressed" in text
    assert len(slower.cases()) == 2


def test_the_report_of_a_session_shows_each_case_over_the_runs_of_its_label(slower: Suite) -> None:
    slower.run("--devperf-save=base")
    slower.run("--devperf-save=base", "--devperf-html=saved.html")
    slower.run("--devperf-compare=base", "--devperf-html=compared.html")
    slower.run("--devperf", "--devperf-html=measured.html")

    lengths = {
        name: [len(each["mid"]) for each in pasts_in((slower.path / f"{name}.html").read_text(encoding="utf-8"))]
        for name in ("saved", "compared", "measured")
    }
    assert lengths == {"saved": [3, 3], "compared": [4, 4], "measured": []}
    assert "3 runs of base, and 1 not saved" in (slower.path / "compared.html").read_text(encoding="utf-8")


def test_the_report_of_a_session_has_no_history_if_an_earlier_run_is_damaged(slower: Suite) -> None:
    slower.run("--devperf-save=base")
    slower.run("--devperf-save=base")
    oldest, *_ = sorted(slower.path.glob(".devperf/*/base/*.json"))
    oldest.write_bytes(b"{")

    result = slower.run("--devperf-compare=base", "--devperf-html=report.html")

    assert re.search(rf"the report shows no history: .*{re.escape(oldest.name)}", slower.flat(result))
    assert pasts_in((slower.path / "report.html").read_text(encoding="utf-8")) == []


def test_the_ini_file_may_name_reports(slower: Suite) -> None:
    slower.ini("devperf_markdown = report.md")

    slower.run("--devperf-compare=base")

    assert "1 of 2 cases regressed" in (slower.path / "report.md").read_text(encoding="utf-8")


def test_markdown_may_have_standard_output_for_itself(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_a(devperf):\n    print('noise')\n    devperf(work)\n")

    plan = ("--devperf-processes=1", "--devperf-rounds=2", "--devperf-iterations=2")
    done = alone(suite, "-s", "--devperf-markdown=-", "--devperf-target=host", *plan)

    assert done.stdout.startswith("<!-- pytest-devperf -->\n## Performance: 1 case measured\n")
    assert "noise" in done.stderr


@pytest.mark.parametrize("option", ["--devperf-html", "--devperf-markdown"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "{path} is a folder"),
        ("nowhere/report", "{path}/nowhere/report is in {path}/nowhere, which is not a folder"),
    ],
)
def test_a_report_that_could_not_be_written_is_refused_before_anything_is_measured(
    two_cases: Suite, option: str, name: str, why: str
) -> None:
    result = two_cases.run("--devperf", f"{option}={name}")

    assert result.ret == USAGE
    assert (
        f"{option}={name}: {why.format(path=two_cases.path)}: name a file in a folder that exists"
        in result.stderr.str()
    )
    assert "passed" not in result.stdout.str()


@pytest.mark.usefixtures("ordinary_rights")
@pytest.mark.parametrize("option", ["--devperf-json", "--devperf-html"])
def test_a_folder_without_permission_is_refused_before_anything_is_measured(two_cases: Suite, option: str) -> None:
    folder = two_cases.path / "locked"
    folder.mkdir()
    folder.chmod(0o500)

    result = two_cases.run("--devperf", f"{option}=locked/report")

    assert result.ret == USAGE
    assert f"{option}=locked/report: {folder}/report cannot be written (permission denied)" in result.stderr.str()


def test_two_reports_do_not_share_one_file(two_cases: Suite) -> None:
    result = two_cases.run("--devperf", "--devperf-json=same", "--devperf-html=same")

    assert result.ret == USAGE
    assert "--devperf-json=same and --devperf-html=same would both write same: name another" in result.stderr.str()


def test_two_reports_do_not_share_standard_output(two_cases: Suite) -> None:
    done = alone(two_cases, "--devperf-target=virtual", "--devperf-json=-", "--devperf-html=-")

    assert done.returncode == USAGE
    assert "--devperf-json=- and --devperf-html=- would both write standard output" in done.stderr


def test_a_report_that_cannot_be_written_in_the_end_fails_the_session_and_harms_no_other(slower: Suite) -> None:
    slower.pytester.makeconftest(
        (slower.path / "conftest.py").read_text()
        + "\ndef pytest_runtest_logstart(nodeid):\n    pathlib.Path('late.html').mkdir(exist_ok=True)\n"
    )
    slower.takes(fast=1_000_000, slow=2_000_000)

    result = slower.run("--devperf-compare=base", "--devperf-html=late.html", "--devperf-markdown=report.md")

    assert result.ret == 1
    assert "NOT SAVED:" in result.stdout.str()
    assert "late.html cannot be written" in slower.flat(result)
    assert "No regression in 2 compared cases" in (slower.path / "report.md").read_text(encoding="utf-8")


def test_a_session_that_is_broken_off_reports_what_there_is(slower: Suite) -> None:
    slower.takes(fast=3_000_000, slow=3_000_000)

    result = slower.run(
        "--devperf-compare=base", "-x", "--devperf-order=sequential", "--devperf-html=r.html", "--devperf-markdown=r.md"
    )

    assert result.ret == 1
    assert "1 of 2 cases regressed" in (slower.path / "r.md").read_text(encoding="utf-8")
    assert "1 of 2 cases regressed" in (slower.path / "r.html").read_text(encoding="utf-8")
    assert "r.html and r.md got 1 of 2 cases: the session was ended before the others" in slower.flat(result)


def test_a_session_that_only_looks_names_the_reports_that_it_did_not_write(two_cases: Suite) -> None:
    result = two_cases.run("--devperf", "--devperf-html=r.html", "--devperf-markdown=r.md", "--collect-only")

    result.stdout.fnmatch_lines(["devperf: no case was measured and nothing was written to r.html or r.md"])


def test_later_process_starts_write_no_report(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it="import os\ndef work(): pass\ndef test_a(devperf):\n"
        "    assert not os.path.exists('r.md')\n    devperf(work)\n"
    )
    suite.ini("devperf_markdown = r.md")

    result = suite.run_here(
        "--devperf", "--devperf-processes=2", "--devperf-rounds=2", "--devperf-iterations=2", "--devperf-target=host"
    )

    assert result.ret == 0
    assert (suite.path / "r.md").exists()
