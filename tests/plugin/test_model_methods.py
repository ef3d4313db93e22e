"""A model with several methods: each has its time, the file has one load and one size."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Suite

TWO_METHODS = """
from contextlib import contextmanager

import pytest

from pytest_devperf.sensor.context import Context
from pytest_devperf.target.device import Device
from pytest_devperf.target.target import Memory, Survey


class Runner:
    def __init__(self, method):
        self.load_ns = 3_000_000
        self.method = method

    def run(self, iterations, inner_loops):
        return [1_000_000 + n for n in range(iterations)]

    def anchor(self):
        return None

    def memory(self, iterations):
        size = {"encode": 64, "decode": 1}[self.method]
        return Memory(baseline=1 << 20, loaded=size << 20, peak=size << 20, disposed=1 << 20)

    def result(self):
        return {"ran": self.method}


class Phone:
    device = Device(kind="virtual", model="two-methods")

    def look(self):
        return Context(at_ns=0)

    def survey(self, model):
        return Survey(methods=("encode", "decode"))

    @contextmanager
    def start(self, workload, process):
        yield Runner(workload.method)


def pytest_devperf_make_target(config, spec):
    return Phone() if spec == "two-methods" else None
"""


def test_load_and_memory_are_the_first_methods_alone(suite: Suite) -> None:
    suite.pytester.makeconftest(TWO_METHODS)
    (suite.path / "m.onnx").write_bytes(b"")
    suite.pytester.makepyfile(
        test_it="""
        def test_it(devperf):
            assert devperf.model("m.onnx") == {"ran": "decode"}
        """
    )
    result = suite.pytester.runpytest_inprocess(
        "--devperf", "--devperf-target=two-methods", "--devperf-json=run.json", "--devperf-cooldown=off"
    )
    assert result.ret == 0
    (case,) = suite.document()["runs"][0]["cases"]
    metrics = {metric["name"]: metric for metric in case["metrics"]}
    assert {"execute.encode", "execute.decode", "load", "peak_memory"} <= set(metrics)
    assert [values for row in metrics["peak_memory"]["samples"] for values in row] == [63.0, 63.0, 63.0]
    assert [len(row) for row in metrics["load"]["samples_ns"]] == [1, 1, 1]


def test_a_session_in_which_no_case_passed_saves_nothing(suite: Suite) -> None:
    suite.pytester.makepyfile(test_bad="def test_bad(devperf):\n    devperf(len, [])\n    assert False\n")
    result = suite.run("--devperf-save=base")
    assert result.ret == 1
    assert suite.saved() == []
    assert "NOT SAVED as base: no case passed" in result.stdout.str()
