"""Where the time of a change went, for models on the simulated phone: the real runner, the real onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from model_files import tflite
from stand_in import build_stand_in

Session = Any
"""The fixtures' own class; conftest files are not imported."""

SUITE = "def test_net(devperf): devperf.model('net.onnx')"

VERDICT = """

def pytest_devperf_compare(config, record, baseline, policy):
    from pytest_devperf.record.record import Change, Comparison

    name = "execute.forward"
    old, new = (next(m.robust for m in r.metrics if m.name == name) for r in (baseline.runs[0].record, record))
    change = Change(metric=name, verdict="regressed", baseline=old, candidate=new, delta=new - old, delta_pct=50)
    return Comparison(verdict="regressed", changes=(change,))
"""
"""A busy machine's tests shall not depend on its mood: what is explained is not judged here."""


def write_net(path: Path, *, extra: bool) -> None:
    """Write five layers of 64 channels; `extra`: between two of them, work that takes as long as all layers."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = np.random.default_rng(3).standard_normal((64, 64)).astype("float32") / 8
    nodes, last = [], "x"
    for at in range(5):
        nodes += [
            helper.make_node("MatMul", [last, "w"], [f"m{at}"], f"/layer{at}/matmul"),
            helper.make_node("Tanh", [f"m{at}"], [f"t{at}"], f"/layer{at}/tanh"),
        ]
        last = f"t{at}"
        if extra and at == 2:
            for again in range(12):
                nodes.append(helper.make_node("Sin", [last], [f"s{again}"], f"/extra/sin{again}"))
                last = f"s{again}"
    slots = [helper.make_tensor_value_info(name, kind, [512, 64]) for name in ("x", last)]
    graph = helper.make_graph(nodes, "net", slots[:1], slots[1:], [onnx.numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)


@pytest.fixture
def net(session: Session) -> Session:
    with (session.path / "conftest.py").open("a") as file:
        file.write(VERDICT)
    session.pytester.makepyfile(test_net=SUITE)
    write_net(session.path / "net.onnx", extra=False)
    saving = session.run("--devperf-save=base", "--devperf-explain=auto")
    assert saving.ret == 0
    return session


def test_the_saved_run_holds_the_nodes_and_added_nodes_are_named(net: Session) -> None:
    (saved,) = net.saved()
    assert '"/layer' not in saved.read_text()  # a row is the operator with the name
    assert "MatMul /layer0/matmul" in saved.read_text()

    write_net(net.path / "net.onnx", extra=True)
    result = net.run("--devperf-compare=base", "--devperf-explain=auto", "--devperf-json=run.json")

    result.stdout.fnmatch_lines(["*where: added Sin*"])
    (case,) = net.cases().values()
    cause, *_ = case["comparison"]["explanation"]["causes"]
    assert (cause["name"], cause["kind"], cause["certain"]) == ("added " + "+".join(["Sin"] * 12), "node", True)


def test_operators_of_a_tflite_model_are_named(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "setups" / "sim"
    folder.mkdir(parents=True, exist_ok=True)
    build_stand_in("benchmark_model", folder)
    model = session.path / "m.tflite"
    model.write_bytes(tflite(signatures=["forward"], open_rank=1) + b"OPS:CONV_2D a 1.5;ADD b 0.5;CONV_2D c 1.5;.")
    with (session.path / "conftest.py").open("a") as file:
        file.write(VERDICT)
    session.pytester.makepyfile(test_m="def test_m(devperf): devperf.model('m.tflite', dims={'x.0': 2})")
    assert session.run("--devperf-save=base", "--devperf-explain=auto").ret == 0

    model.write_bytes(
        tflite(signatures=["forward"], open_rank=1) + b"OPS:CONV_2D a 1.5;DIV x 1.0;MUL y 0.75;CONV_2D c 1.5;."
    )
    result = session.run("--devperf-compare=base", "--devperf-explain=auto")

    result.stdout.fnmatch_lines(["where: ADD -> DIV+MUL +1.25 of +1.25 ms (100 %)"])


def test_an_unchanged_model_names_no_node_for_certain(net: Session) -> None:
    net.run("--devperf-compare=base", "--devperf-explain=auto", "--devperf-json=run.json")

    (case,) = net.cases().values()
    assert not [cause for cause in case["comparison"]["explanation"]["causes"] if cause["certain"]]
