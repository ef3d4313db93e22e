"""Two programs in turns within one test, each made of arithmetic: it prints given durations."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

try:  # loaded once here: pytester forgets what a test imported, and numpy cannot be imported twice
    import numpy
    import onnx
    import onnxruntime
except ImportError:
    onnx = numpy = onnxruntime = None

if TYPE_CHECKING:
    from conftest import Suite

PROGRAM = """
import sys
base, iterations = int(sys.argv[1]), int(sys.argv[2])
for i in range(iterations):
    print(base + i % 5 * base // 500)
"""

PAIRED = """
import sys

def program(ns):
    return [sys.executable, "-S", "program.py", str(ns), "{{iterations}}"]

def test_duel(devperf):
    devperf.paired(old=program({old}), new=program({new}))

def test_other(devperf):
    devperf(sorted, [3, 1, 2])
"""


@pytest.fixture
def duel(suite: Suite):
    (suite.path / "program.py").write_text(PROGRAM)

    def write(old: int, new: int) -> Suite:
        suite.pytester.makepyfile(test_it=PAIRED.format(old=old, new=new))
        return suite

    return write


@pytest.mark.slow
def test_a_slower_program_regresses_without_any_saved_run(duel) -> None:
    suite = duel(1_000_000, 1_100_000)
    result = suite.run_here(
        "--devperf", "--devperf-iterations=10", "-k", "duel", "--devperf-json=run.json", "--junitxml=junit.xml"
    )
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*latency regressed: 1.00 -> 1.10 ms (+10.0 %), beyond *"])
    assert 'message="latency regressed' in (suite.path / "junit.xml").read_text(encoding="utf-8")
    (case,) = suite.cases().values()
    (latency,) = case["metrics"]
    # The rounds that get a side ready are not kept; a pair that is steady needs one round of each program.
    assert latency["process"] == [0, 0, 1, 2, 3]
    assert latency["against"]["process"] == latency["process"]
    (change,) = case["comparison"]["changes"]
    assert (change["verdict"], round(change["baseline"], 2), round(change["candidate"], 2)) == ("regressed", 1.0, 1.1)


@pytest.mark.slow
def test_a_faster_program_is_reported_and_other_cases_are_only_measured(duel) -> None:
    result = duel(1_000_000, 800_000).run_here("--devperf", "--devperf-iterations=5", "--devperf-rounds=3")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["devperf: 1 improved, 1 measured"])


@pytest.mark.slow
def test_unchanged_programs_are_done_after_three_pairs(duel) -> None:
    suite = duel(1_000_000, 1_000_000)
    result = suite.run_here("--devperf", "--devperf-iterations=5", "-k", "duel", "--devperf-json=run.json")
    assert result.ret == 0
    (case,) = suite.cases().values()
    assert sorted(set(case["metrics"][0]["process"])) == [0, 1, 2]
    result.stdout.fnmatch_lines(["devperf: 1 within noise"])


@pytest.mark.slow
def test_in_one_process_there_is_one_pair_of_starts_which_proves_nothing(duel) -> None:
    suite = duel(1_000_000, 1_000_000)
    result = suite.run_here("--devperf", "--devperf-processes=1", "-k", "duel", "--devperf-json=run.json")
    assert result.ret == 0
    (case,) = suite.cases().values()
    assert case["metrics"][0]["process"] == [0, 0]
    result.stdout.fnmatch_lines(["devperf: 1 INCONCLUSIVE"])


def test_unmeasured_both_run_once(duel) -> None:
    suite = duel(1_000_000, 1_100_000)
    result = suite.run_here("-k", "duel")
    result.assert_outcomes(passed=1, deselected=1)


def test_a_program_against_a_model_is_refused(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_x="""
        def test_x(devperf):
            devperf.paired(old=["a"], new="b.onnx")
        """
    )
    result = suite.run_here("--devperf")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*devperf.paired was given a program and a model: pass two argument lists*"])


MODELS = """
def test_models(devperf):
    outputs = devperf.paired(old="old.onnx", new="new.onnx", dims={"n": 2})
    assert outputs["y"].shape == (2, 64)
"""


def chain(path, depth: int, width: int = 64) -> None:
    """A model that multiplies so many times: deeper is slower."""
    weight = onnx.numpy_helper.from_array(numpy.eye(width, dtype=numpy.float32), "w")
    names = ["x", *(f"h{at}" for at in range(depth - 1)), "y"]
    nodes = [
        onnx.helper.make_node("Softmax" if at % 2 else "MatMul", [a] if at % 2 else [a, "w"], [b])
        for at, (a, b) in enumerate(pairwise(names))
    ]
    shape = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", width]) for name in ("x", "y")]
    graph = onnx.helper.make_graph(nodes, "chain", shape[:1], shape[1:], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))


needs_onnx = pytest.mark.skipif(onnxruntime is None, reason="needs onnx and onnxruntime")


@needs_onnx
@pytest.mark.slow
def test_a_deeper_model_regresses_and_its_outputs_come_back(suite: Suite) -> None:
    chain(suite.path / "old.onnx", 4)
    chain(suite.path / "new.onnx", 120)
    suite.pytester.makepyfile(test_models=MODELS)
    result = suite.run_here(
        "--devperf", "--devperf-iterations=10", "--devperf-tolerance=60%", "--devperf-json=run.json"
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*execute.forward regressed: *"])
    (case,) = suite.cases().values()
    assert [metric["name"] for metric in case["metrics"]] == ["execute.forward"]
    assert case["workload"]["kind"] == "model"
    assert suite.run_here().ret == 0


@needs_onnx
@pytest.mark.slow
def test_models_with_other_inputs_are_not_compared(suite: Suite) -> None:
    chain(suite.path / "old.onnx", 2, width=32)
    chain(suite.path / "new.onnx", 2)
    suite.pytester.makepyfile(test_models=MODELS)
    result = suite.run_here("--devperf", "--devperf-iterations=5")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the two models take different inputs*"])


@pytest.mark.slow
def test_programs_take_turns_on_a_phone(suite: Suite) -> None:
    (suite.path / "bench.sh").write_text("#!/bin/sh\nfor i in 0 1 2 3 4; do echo $(($1 + i * 100)); done\n")
    suite.pytester.makepyfile(
        test_phone="""
        def test_phone(devperf):
            devperf.paired(
                old=["sh", "./bench.sh", "1000000"], new=["sh", "./bench.sh", "1100000"],
                push=["bench.sh"], read="lines",
            )
        """
    )
    result = suite.run_here("--devperf-target=sim", "--devperf", "--devperf-processes=4", "--devperf-json=run.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*latency regressed: 1.00 -> 1.10 ms (+10.0 %), beyond *"])
    assert suite.cases()["test_phone.py::test_phone"]["metrics"][0]["process"] == [0, 0, 1, 2, 3]
