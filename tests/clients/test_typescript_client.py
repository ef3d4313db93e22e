"""The TypeScript client, compiled and run by Node, reports to a real collector."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_devperf.targets.app.collector import Collector
from pytest_devperf.targets.app.wire import CaseReport, Task

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"

APP = """
import { connect } from "./devperf.js";
const run = await connect();
if (run === null) { console.log("not under devperf"); process.exit(0); }
const spin = (ns) => { const begun = process.hrtime.bigint(); while (process.hrtime.bigint() - begun < ns); };
const dies = process.argv.includes("--die");
await run.bench("sort", () => [3, 1, 2].sort(), { facts: { length: 3 } });
await run.bench("slow", async () => { await null; spin(1_000_000n); }, {
  load: () => 7, residentBytes: () => process.memoryUsage().rss,
});
await run.bench("dies", () => { if (dies) process.exit(3); });
await run.bench("throws", () => { throw new Error("no camera"); });
await run.skip("npu", "this device has none");
await run.end();
"""

NARROW_TASK = Task(run="r1", rounds=2, iterations=4, warmup=1)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the client and write an app next to it."""
    compiler = CLIENT / "node_modules" / ".bin" / "tsc"
    tsc = str(compiler) if compiler.exists() else shutil.which("tsc")
    if shutil.which("node") is None or tsc is None:
        pytest.skip("needs node, and TypeScript: run `npm install --no-package-lock` in clients/typescript")
    folder = tmp_path_factory.mktemp("client")
    compiled = subprocess.run(
        [tsc, "--project", str(CLIENT), "--outDir", str(folder)], capture_output=True, text=True, check=False
    )
    assert compiled.returncode == 0, compiled.stdout
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "app.js").write_text(APP)
    return folder / "app.js"


def start(app: Path, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", str(app), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def reported(collector: Collector) -> dict[str, CaseReport]:
    return {report.case: report for report in collector.reports(timeout_s=5)}


def test_an_app_that_devperf_did_not_start_runs_as_ever(app: Path) -> None:
    assert start(app, {}).stdout == "not under devperf\n"


def test_every_case_is_measured_as_the_task_requires(app: Path) -> None:
    with Collector(NARROW_TASK) as collector:
        ended = start(app, collector.environment)
        cases = reported(collector)

    assert ended.returncode == 0, ended.stderr
    assert list(cases) == ["sort", "slow", "dies", "throws", "npu"]
    assert [len(samples) for samples in cases["sort"].rounds_ns["latency"]] == [4, 4]
    assert cases["sort"].facts == {"length": 3}
    assert cases["slow"].load_ns is not None
    assert min(min(samples) for samples in cases["slow"].rounds_ns["latency"]) > 999_000
    assert cases["slow"].memory is not None
    assert cases["slow"].memory.peak >= cases["slow"].memory.baseline
    assert (cases["throws"].outcome, cases["throws"].reason) == ("failed", "Error: no camera")
    assert (cases["npu"].outcome, cases["npu"].reason) == ("skipped", "this device has none")


def test_only_the_case_that_was_asked_for_runs(app: Path) -> None:
    with Collector(Task(run="r1", rounds=1, iterations=2, warmup=0, only="sort")) as collector:
        start(app, collector.environment)
        cases = reported(collector)

    assert list(cases) == ["sort"]


def test_an_app_restarted_after_a_crash_continues_after_the_failed_case(app: Path) -> None:
    with Collector(NARROW_TASK) as collector:
        died = start(app, collector.environment, "--die")
        again = start(app, collector.environment, "--die")
        cases = reported(collector)

    assert died.returncode == 3
    assert again.returncode == 0, again.stderr
    assert list(cases) == ["sort", "slow", "dies", "throws", "npu"]
    assert cases["dies"].reason == "the app died in this case when it ran before"


def test_an_app_of_another_run_gets_the_reason_of_its_refusal(app: Path) -> None:
    with Collector(NARROW_TASK) as collector:
        ended = start(app, {**collector.environment, "DEVPERF_RUN": "r0"})

    assert ended.returncode != 0
    assert "refused POST /v1/begin: run 'r0' is over; this is 'r1'" in ended.stderr
