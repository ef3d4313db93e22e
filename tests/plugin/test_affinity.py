"""`--devperf-affinity` holds in every process start, and is recorded."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(psutil.Process(), "cpu_affinity"), reason="this system cannot bind a process"
)

CASE = """
import psutil

def test_bound(devperf):
    devperf(sorted, [3, 1])
    assert psutil.Process().cpu_affinity() == [{cpu}]
"""


def test_every_process_start_runs_on_the_cpus_that_were_named(suite: Any) -> None:
    cpu = psutil.Process().cpu_affinity()[0]
    suite.pytester.makepyfile(CASE.format(cpu=cpu))

    result = suite.run_here(
        "--devperf",
        "--devperf-target=host",
        f"--devperf-affinity={cpu}",
        "--devperf-rounds=3",
        "--devperf-json=run.json",
    )

    assert result.ret == 0
    (run,) = suite.document()["runs"]
    assert run["settings"]["affinity"] == str(cpu)
    assert run["cases"][0]["run_context"]["env"]["affinity"] == str(cpu)
    assert set(run["cases"][0]["metrics"][0]["process"]) == {0, 1, 2}


def test_cpus_that_are_not_there_end_the_session(suite: Any) -> None:
    suite.pytester.makepyfile(CASE.format(cpu=0))

    result = suite.run_here("--devperf", "--devperf-target=host", "--devperf-affinity=9999")

    assert result.ret == 4
    assert "this machine has CPUs 0 to" in result.stderr.str()
