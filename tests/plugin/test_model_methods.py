"""A model with several methods: each has its time, the file has one load and one size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

try:  # loaded once here: pytester forgets what a test imported, and onnx cannot be imported twice
    import onnx
except ImportError:
    onnx = None

if TYPE_CHECKING:
    from conftest import Suite

TWO_METHODS = """
from contextlib import contextmanager

import pytest

from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.protocol import Memory
from pytest_devperf.targets.survey import Survey


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


OPEN = """
def test_onnx(devperf):
    devperf.model("open.onnx")

def test_tflite(devperf):
    devperf.model("open.tflite")

def test_paired(devperf):
    devperf.paired(old="open.onnx", new="open.onnx")
"""


@pytest.mark.skipif(onnx is None, reason="needs onnx")
@pytest.mark.parametrize("how", [(), ("--devperf",)], ids=["once", "host"])
def test_sizes_that_a_test_left_open_fail_it_with_their_names(suite: Suite, how: tuple[str, ...]) -> None:
    pytest.importorskip("ai_edge_litert")
    from model_files import tflite

    kind = onnx.TensorProto.FLOAT
    slots = [onnx.helper.make_tensor_value_info(name, kind, ["batch", "seq"]) for name in ("x", "y")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", slots[:1], slots[1:])
    onnx.save(onnx.helper.make_model(graph), suite.path / "open.onnx")
    (suite.path / "open.tflite").write_bytes(tflite(open_rank=1))
    suite.pytester.makepyfile(test_it=OPEN)

    result = suite.run_here("-v", *how)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*dimensions 'batch', 'seq' have no fixed size; pass dims={'batch': N, 'seq': N}*"])
    failed = {line.split()[0].rpartition("::")[2] for line in result.outlines if " FAILED" in line and "::" in line}
    assert failed == {"test_onnx", "test_tflite", "test_paired"}


def test_a_session_in_which_no_case_passed_saves_nothing(suite: Suite) -> None:
    suite.pytester.makepyfile(test_bad="def test_bad(devperf):\n    devperf(len, [])\n    assert False\n")
    result = suite.run("--devperf-save=base")
    assert result.ret == 1
    assert suite.saved() == []
    assert "NOT SAVED as base: no case passed" in result.stdout.str()
