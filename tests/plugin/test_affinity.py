"""`--devperf-affinity` holds in every process start, and is recorded."""

from __future__ import annotations

import os
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

    result = suite.run_here("--devperf", "--devperf-target=host", "--devperf-affinity=4095")

    assert result.ret == 4
    assert "this machine has CPUs 0 to" in result.stderr.str()


# -- the CPUs that a process may use ---------------------------------------------------------------------


def _uses(suite: Any, **cpu_set: object) -> None:
    suite.takes(context={"cpu_set": cpu_set} if cpu_set else {})


def test_unchanged_code_on_fewer_cpus_is_incomparable_with_both_numbers(two_cases: Any) -> None:
    _uses(two_cases, cpus="0-1", usable=2.0)
    two_cases.run("--devperf-save=base")
    two_cases.takes(**{"*": 2_000_000}, context={"cpu_set": {"cpus": "0", "usable": 1.0}})
    result = two_cases.run("--devperf-compare=base", "--devperf-accept=busy-host,contended")
    assert result.ret == 1
    assert two_cases.last_line(result) == "devperf: 2 INCOMPARABLE; NOTHING was compared with base"
    text = " ".join(line.strip() for line in result.outlines)
    assert "cpu-set: the process could use 2 CPUs (0-1) in the baseline and 1 CPU (0) now" in text


def test_a_containers_quota_is_part_of_the_record_and_of_the_gate(two_cases: Any) -> None:
    _uses(two_cases, cpus="0-3", usable=4.0)
    two_cases.run("--devperf-save=base")
    _uses(two_cases, cpus="0-3", usable=1.5)
    two_cases.run("--devperf-compare=base", "--devperf-json=run.json")
    for case in two_cases.cases().values():
        assert case["run_context"]["cpu_set"] == {"cpus": "0-3", "usable": 1.5, "layout": None}
        assert "4 CPUs (0-3) in the baseline and 1.5 CPUs (of 0-3) now" in case["comparison"]["reason"]


def test_a_baseline_that_does_not_know_its_cpus_is_compared_with_a_caution(two_cases: Any) -> None:
    two_cases.run("--devperf-save=base")
    _uses(two_cases, cpus="0-1", usable=2.0)
    result = two_cases.run("--devperf-compare=base", "--devperf-json=run.json")
    assert result.ret == 0
    for case in two_cases.cases().values():
        assert case["comparison"]["cautions"] == {"unknown-context": "CPUs known on one side only"}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="reads files of the Linux kernel")
def test_a_session_on_one_of_this_machines_cpus_is_not_compared_with_one_on_two(suite: Any) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("this machine has one CPU")
    suite.pytester.makepyfile("def work(): sum(range(99))\ndef test_it(devperf): devperf(work)")
    plan = ("--devperf-target=host", "--devperf-rounds=3", "--devperf-iterations=5", "--devperf-processes=2")
    assert suite.run_here("--devperf-save=base", *plan).ret == 0
    os.sched_setaffinity(0, cpus[:1])  # which the session inherits, as under taskset
    try:
        result = suite.run_here("--devperf-compare=base", *plan)
    finally:
        os.sched_setaffinity(0, cpus)
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 INCOMPARABLE; NOTHING was compared with base"
    assert f"1 CPU ({cpus[0]})" in result.stdout.str()


@pytest.mark.parametrize("named", [("1", "0"), ("1", None)], ids=["another", "none"])
def test_other_cpus_that_the_user_named_are_not_compared(suite: Any, named: tuple[str, str | None]) -> None:
    cpus = psutil.Process().cpu_affinity()
    if len(cpus) < 2:
        pytest.skip("this machine has one CPU")
    suite.pytester.makepyfile("def work(): sum(range(99))\ndef test_it(devperf): devperf(work)")
    plan = ("--devperf-target=host", "--devperf-rounds=3", "--devperf-iterations=5", "--devperf-processes=1")
    words = [[f"--devperf-affinity={cpus[int(each)]}"] if each else [] for each in named]
    assert suite.run_here("--devperf-save=base", *plan, *words[0]).ret == 0
    result = suite.run_here("--devperf-compare=base", *plan, *words[1])
    assert result.ret == 1
    assert "cpu-set: " in result.stdout.str()
