"""One runner built by this machine's compiler, and simulated phones as targets."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_devperf.errors import TargetError
from pytest_devperf.simphone import SimPhone
from pytest_devperf.targets.android.options import PhoneOptions
from pytest_devperf.targets.android.runner.setup import Setup, set_up_simulated
from pytest_devperf.targets.android.setup_folder import FOLDER_VARIABLE
from pytest_devperf.targets.android.target import AndroidTarget


@pytest.fixture(scope="session", autouse=True)
def setups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for setups and notes that is not the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("setups")
        patch.setenv(FOLDER_VARIABLE, str(folder))
        yield folder


@pytest.fixture(scope="session")
def setup(setups: Path) -> Setup:
    pytest.importorskip("onnxruntime")
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        pytest.skip("no C compiler")
    return set_up_simulated()


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x [batch, 8] float32 and n [batch] int64 -> z [batch, 4] float32, k [batch] int64."""
    onnx = pytest.importorskip("onnx")
    numpy = pytest.importorskip("numpy")
    make, kinds = onnx.helper, onnx.TensorProto
    weights = numpy.random.default_rng(7).standard_normal((8, 4)).astype("float32")
    graph = make.make_graph(
        [
            make.make_node("MatMul", ["x", "w"], ["y"]),
            make.make_node("Tanh", ["y"], ["z"]),
            make.make_node("Add", ["n", "n"], ["k"]),
        ],
        "graph",
        [
            make.make_tensor_value_info("x", kinds.FLOAT, ["batch", 8]),
            make.make_tensor_value_info("n", kinds.INT64, ["batch"]),
        ],
        [
            make.make_tensor_value_info("z", kinds.FLOAT, ["batch", 4]),
            make.make_tensor_value_info("k", kinds.INT64, ["batch"]),
        ],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])
    model.ir_version = 9
    path = tmp_path_factory.mktemp("models") / "it's a $(touch gone) model ü.onnx"
    onnx.save(model, str(path))
    return path


@pytest.fixture(scope="module")
def target(phone: SimPhone) -> Iterator[AndroidTarget]:
    target = AndroidTarget(serial=phone.serial, server_port=phone.server_port, clock=phone.clock)
    yield target
    target.close()


@pytest.fixture
def reach() -> Iterator[Callable[..., AndroidTarget]]:
    """Reach a phone for one test."""
    targets: list[AndroidTarget] = []

    def reach(phone: SimPhone, **how: object) -> AndroidTarget:
        options = PhoneOptions(**how)
        target = AndroidTarget(serial=phone.serial, server_port=phone.server_port, clock=phone.clock, options=options)
        targets.append(target)
        return target

    yield reach
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 0.0)
        for target in targets:
            with contextlib.suppress(TargetError):  # its phone may be gone on purpose
                target.close()
