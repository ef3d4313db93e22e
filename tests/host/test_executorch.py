"""ExecuTorch programs on the host, through the wheel's C++ libraries and a program written here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model_files import pte

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.models import executorch_build
from pytest_devperf.targets.host.target import HostTarget


@pytest.fixture(scope="module")
def wheel() -> executorch_build.Wheel:
    try:
        executorch_build.build()
        return executorch_build.find_wheel()
    except Unsupported as error:
        pytest.skip(str(error))


@pytest.fixture
def target(wheel) -> HostTarget:
    return HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))


@pytest.fixture
def adding(tmp_path: Path) -> str:
    path = tmp_path / "add ü.pte"
    path.write_bytes(pte(methods=["forward", "again"]))
    return str(path)


def test_a_program_is_loaded_executed_and_answers(target, adding):
    one, two = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), dtype=np.float32)

    with target.start(Model(path=adding, inputs={"input0": one, "input1": two}), 0) as runner:
        samples = runner.run(4, 1)
        runner.run(1, 10)
        outputs = runner.result()

    assert runner.load_ns > 0
    assert len(samples) == 4
    np.testing.assert_array_equal(outputs["output0"], one + two)


def test_every_method_can_be_run(target, adding, wheel):
    survey = target.survey(Model(path=adding))

    assert survey.methods == ("forward", "again")
    assert survey.env == {"ep": "kernels", "sdk": f"executorch {wheel.version}"}
    with target.start(Model(path=adding, method="again", memory=True), 0) as runner:
        memory = runner.memory(3)
    assert memory.peak >= memory.loaded


def test_a_method_that_takes_a_number_is_skipped_with_its_reason(target, tmp_path):
    path = tmp_path / "m.pte"
    path.write_bytes(pte(with_int=True))

    survey = target.survey(Model(path=str(path)))

    assert survey.methods == ()
    assert "only tensors" in survey.skipped["forward"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"providers": ("XNNPACK",)}, "no providers"),
        ({"session_options": {"threads": 2}}, "no session options"),
        ({"inputs": {"z": np.ones(1)}}, "no input 'z'"),
        ({"method": "backward"}, "no method 'backward'.*forward, again"),
    ],
)
def test_errors_are_reported(target, adding, fields, words):
    with pytest.raises(CaseError, match=words):
        target.survey(Model(path=adding, **fields))


def test_a_refused_program_is_reported_in_the_runtimes_words(target, tmp_path):
    path = tmp_path / "m.pte"
    path.write_bytes(pte().replace(b"aten::add", b"aten::xxx"))

    with pytest.raises(CaseError, match=r"m\.pte cannot be loaded \(Error::"), target.start(Model(path=str(path)), 0):
        pass


def test_an_empty_file_is_no_program(target, tmp_path):
    (tmp_path / "m.pte").write_bytes(b"")

    with pytest.raises(CaseError, match=r"m\.pte is an empty file: export it again"):
        target.survey(Model(path=str(tmp_path / "m.pte")))


def test_without_the_wheel_the_error_shows_how_to_install_it(tmp_path, monkeypatch):
    path = tmp_path / "m.pte"
    path.write_bytes(pte())
    monkeypatch.setattr(executorch_build, "find_spec", lambda _: None)
    target = HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))

    with pytest.raises(Unsupported, match="pip install --no-deps executorch"):
        target.survey(Model(path=str(path)))
