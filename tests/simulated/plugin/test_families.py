"""Every kind of case runs on every simulated family, and finds nothing of this machine there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.simphone import PERSONALITIES

Session = Any
"""The fixtures' own class; conftest files are not imported."""

SUITE = """
import os

def test_command(devperf):
    devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])

def test_unpushed(devperf):
    paths = [__file__, os.path.abspath("model.onnx"), os.getcwd(), os.path.expanduser("~"), os.__file__]
    looks = "; ".join(f"[ -e '{path}' ] && echo 'sees {path}'" for path in paths)
    devperf.command(["sh", "-c", f"{looks}; pwd; echo 5"], read=nothing_of_this_machine)

def nothing_of_this_machine(text):
    assert "sees" not in text
    assert "/data/local/tmp/devperf/" in text.splitlines()[0]
    return [5.0]

def test_model(devperf):
    outputs = devperf.model("model.onnx", dims={"batch": 2})
    assert outputs["z"].shape == (2, 4)

def test_app(devperf):
    devperf.app("com.example.bench", cases=["sort"])
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x [batch, 4] float32 -> z [batch, 4] float32; made once, as onnx cannot be imported a second time."""
    onnx = pytest.importorskip("onnx")
    kinds, make = onnx.TensorProto, onnx.helper
    graph = make.make_graph(
        [make.make_node("Tanh", ["x"], ["z"])],
        "graph",
        [make.make_tensor_value_info("x", kinds.FLOAT, ["batch", 4])],
        [make.make_tensor_value_info("z", kinds.FLOAT, ["batch", 4])],
    )
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])
    made.ir_version = 9
    path = tmp_path_factory.mktemp("models") / "model.onnx"
    onnx.save(made, str(path))
    return path


@pytest.fixture
def suite(model: Path, session: Session) -> Session:
    shutil.copy(model, session.path)
    session.pytester.makepyfile(test_suite=SUITE)
    session.app_does(sort=1_000_000)
    return session


@pytest.mark.parametrize("family", PERSONALITIES)
def test_commands_models_and_apps_run_on_every_family(suite: Session, family: str) -> None:
    result = suite.run(
        "--devperf-json=run.json", "--devperf-rounds=2", "--devperf-iterations=5", target=f"sim:{family}"
    )

    assert result.ret == 0, result.stdout.str()
    cases = suite.cases()
    assert set(cases) == {f"test_suite.py::test_{name}" for name in ("command", "unpushed", "model", "app[sort]")}
    assert {case["outcome"] for case in cases.values()} == {"passed"}
    if "not isolated" in result.stdout.str():
        pytest.skip("this machine cannot isolate a phone; the cases ran on one that is not")
