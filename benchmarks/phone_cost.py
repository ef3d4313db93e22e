"""Measure the overhead of a round on a phone, compared to the same binary called by hand in `adb shell`.

Run it with `python benchmarks/phone_cost.py` (a simulated phone behind the genuine adb) or with a serial number
as its argument (an attached phone that is set up). It prints ms per round, medians of interleaved repetitions, and
asserts nothing: times depend on the machine.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper

from pytest_devperf.case.workload import Command, Model
from pytest_devperf.inputs import tensor
from pytest_devperf.simphone import simulated_phone
from pytest_devperf.simphone.adb.server import adb_program
from pytest_devperf.targets.android.runner.model import MANIFEST, OnnxRunner
from pytest_devperf.targets.android.runner.setup import RUNNER
from pytest_devperf.targets.android.target import AndroidTarget
from pytest_devperf.targets.android.tools.command import CommandRunner

REPETITIONS = 15
"""Rounds of each variant, alternating, so that all run under the same conditions."""

ITERATIONS = 30
"""The plugin's default."""


def main() -> None:
    """Measure and print the results."""
    with ExitStack() as stack:
        serial, port = sys.argv[1] if len(sys.argv) > 1 else "", None
        if not serial:
            phone = stack.enter_context(simulated_phone())
            serial, port = phone.serial, phone.server_port
        target = AndroidTarget(serial=serial, server_port=port)
        stack.callback(target.close)
        by_hand = [adb_program(), *(["-P", str(port)] if port else []), "-s", serial, "shell"]
        print(
            f"{target.device.name}, {ITERATIONS} iterations a round, ms beside the iterations (median of {REPETITIONS})"
        )
        _print_rows(_model_rows(target, by_hand, Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        _print_rows(_command_rows(target, by_hand))


def _model_rows(target: AndroidTarget, by_hand: list[str], folder: Path) -> dict[str, list[float]]:
    """Measure rounds of a model: in one process that keeps running, and with one `adb shell` per round."""
    path = folder / "small.onnx"
    _write_model(path)
    rows: dict[str, list[float]] = {"model, by hand (one adb shell per round)": [], "model, run alone": []}
    rows |= {"model, with anchors": [], "model, with anchors and sensors": []}
    with target.start(Model(path=str(path), dims={"batch": 1}), 0) as runner:
        assert isinstance(runner, OnnxRunner)
        script = (
            f"cd {runner._place.folder} && echo 'run {ITERATIONS} 1 0' | LD_LIBRARY_PATH=. ./{RUNNER} serve {MANIFEST}"  # noqa: SLF001 - the very files
        )
        for _ in range(REPETITIONS):
            began = time.perf_counter()
            answer = subprocess.run([*by_hand, script], capture_output=True, text=True, check=True).stdout
            burst_ms = json.loads(answer.splitlines()[-1])["wall_ns"] / 1e6
            rows["model, by hand (one adb shell per round)"].append((time.perf_counter() - began) * 1e3 - burst_ms)
            rows["model, run alone"].append(_own_ms(runner, anchors=0, sensors=False))
            rows["model, with anchors"].append(_own_ms(runner, anchors=3, sensors=False))
            rows["model, with anchors and sensors"].append(_own_ms(runner, anchors=3, sensors=True))
    return rows


def _own_ms(runner: OnnxRunner, *, anchors: int, sensors: bool) -> float:
    began = time.perf_counter()
    for _ in range(anchors):
        runner.anchor()
    runner.run(ITERATIONS, 1)
    for _ in range(anchors and anchors + 1):
        runner.anchor()
    spent_ms = (time.perf_counter() - began) * 1e3
    began = time.perf_counter()
    burst_ms = (runner.round_context().wall_ns or 0) / 1e6
    return spent_ms - burst_ms + ((time.perf_counter() - began) * 1e3 if sensors else 0.0)


def _command_rows(target: AndroidTarget, by_hand: list[str]) -> dict[str, list[float]]:
    """Measure rounds of a program that only prints a number."""
    rows: dict[str, list[float]] = {"program, by hand (adb shell)": [], "program, as a round": []}
    with target.start(Command(argv=("echo", "1")), 0) as runner:
        assert isinstance(runner, CommandRunner)
        for _ in range(REPETITIONS):
            began = time.perf_counter()
            subprocess.run([*by_hand, "echo 1"], capture_output=True, check=True)
            rows["program, by hand (adb shell)"].append((time.perf_counter() - began) * 1e3)
            began = time.perf_counter()
            runner.run(ITERATIONS, 1)
            rows["program, as a round"].append((time.perf_counter() - began) * 1e3)
    return rows


def _write_model(path: Path) -> None:
    weights = numpy_helper.from_array(tensor((64, 64), "float32", seed=1), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 64])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, os.fspath(path))


def _print_rows(rows: dict[str, list[float]]) -> None:
    first = statistics.median(next(iter(rows.values())))
    for name, values_ms in rows.items():
        median = statistics.median(values_ms)
        print(f"  {name:42} {median:8.1f} ms   {median - first:+8.1f} against the first")


if __name__ == "__main__":
    main()
