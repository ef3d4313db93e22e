"""The Kotlin client, compiled and run on a JVM, reports to a real collector."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_devperf.targets.app.collector import Collector
from pytest_devperf.targets.app.wire import Task

pytestmark = pytest.mark.slow  # its compiler takes half a minute

CLIENT = Path(__file__).parents[2] / "clients" / "kotlin" / "Devperf.kt"

APP = r"""
import dev.devperf.Devperf
fun main(args: Array<String>) {
    val run = Devperf.connect()
    if (run == null) { println("not under devperf"); return }
    run.bench("sort", facts = mapOf("length" to 3, "wörd" to "\"q\" \n \uD83D\uDE00")) { listOf(3, 1, 2).sorted() }
    run.bench("slow", load = { 1_000_000L }) { ns ->
        val begun = System.nanoTime()
        while (System.nanoTime() - begun < ns) {}
    }
    run.bench("dies") { if (args.isNotEmpty()) Runtime.getRuntime().halt(3) }
    run.bench("throws") { throw IllegalStateException("no camera") }
    run.skip("npu", "this device has none")
    run.end()
}
"""

TASK = Task(run="r1", rounds=2, iterations=4, warmup=1)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the client together with an app."""
    if shutil.which("kotlinc") is None or shutil.which("java") is None:
        pytest.skip("needs kotlinc and java on PATH")
    folder = tmp_path_factory.mktemp("client")
    (folder / "Main.kt").write_text(APP, encoding="utf-8")
    compiled = subprocess.run(
        ["kotlinc", str(CLIENT), "Main.kt", "-include-runtime", "-d", "app.jar"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    return folder / "app.jar"


def start(app: Path, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["java", "-cp", str(app), "MainKt", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_app_that_devperf_did_not_start_runs_as_ever(app: Path) -> None:
    assert start(app, {}).stdout == "not under devperf\n"


def test_every_case_is_measured_and_a_crash_is_gone_on_from(app: Path) -> None:
    with Collector(TASK) as collector:
        died = start(app, collector.environment, "--die")
        again = start(app, collector.environment, "--die")
        assert (died.returncode, again.returncode) == (3, 0), died.stderr + again.stderr
        cases = {report.case: report for report in collector.reports(timeout_s=5)}

    assert list(cases) == ["sort", "slow", "dies", "throws", "npu"]
    assert [len(samples) for samples in cases["sort"].rounds_ns["latency"]] == [4, 4]
    assert cases["sort"].facts == {"length": 3, "wörd": '"q" \n \N{GRINNING FACE}'}
    assert cases["slow"].load_ns is not None
    assert min(min(samples) for samples in cases["slow"].rounds_ns["latency"]) > 999_000
    assert cases["dies"].reason == "the app died in this case when it ran before"
    assert cases["throws"].reason == "java.lang.IllegalStateException: no camera"
    assert cases["npu"].outcome == "skipped"


def test_an_app_of_another_run_gets_the_reason_of_its_refusal(app: Path) -> None:
    with Collector(TASK) as collector:
        ended = start(app, {**collector.environment, "DEVPERF_RUN": "r0"})

    assert ended.returncode != 0
    assert "refused POST /v1/begin: run 'r0' is over; this is 'r1'" in ended.stderr
