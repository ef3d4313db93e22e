"""LiteRT and ExecuTorch models on the simulated phone, through stand-ins of their projects' tools."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from model_files import pte, tflite
from stand_in import build_stand_in

from pytest_devperf.case.plan import Plan
from pytest_devperf.case.workload import Command, Model
from pytest_devperf.cli import main
from pytest_devperf.errors import CaseError, Unsupported, UsageError
from pytest_devperf.measure.loop import run_start
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.simphone import SimPhone
from pytest_devperf.targets.android.target import AndroidTarget
from pytest_devperf.targets.android.toolchain import Toolchain
from pytest_devperf.targets.android.tools.tool import find_tool, store_tool
from pytest_devperf.targets.protocol import Profiling, SelfWarming


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    made: dict[tuple[str, ...], Path] = {}

    def build(name: str, *options: str) -> Path:
        key = (name, *options)
        if key not in made:
            made[key] = build_stand_in(name, tmp_path_factory.mktemp("tool"), *options)
        return made[key]

    return build


@pytest.fixture
def stored(own_setups: Path, build) -> Callable[..., None]:
    """Store stand-ins for the simulated phone's tools, in a folder of this test."""

    def stored(name: str, *options: str) -> None:
        shutil.copyfile(build(name, *options), own_setups / "sim" / name)

    return stored


@pytest.fixture
def doubling(tmp_path: Path) -> str:
    path = tmp_path / "it's a $(touch gone) model ü.tflite"
    path.write_bytes(tflite(signatures=["one", "two"], open_rank=1))
    return str(path)


@pytest.fixture
def adding(tmp_path: Path) -> str:
    path = tmp_path / "add, {iterations}.pte"
    path.write_bytes(pte(methods=["forward", "broken"]))
    return str(path)


@pytest.fixture
def fresh(phone: SimPhone, reach) -> AndroidTarget:
    """A target that has asked no tool yet."""
    return reach(phone)


GIVEN = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_tflite_model_runs_by_benchmark_model_and_answers(stored, fresh, doubling):
    stored("benchmark_model")
    model = Model(path=doubling, method="two", inputs={"x": GIVEN})

    survey = fresh.survey(model)
    with fresh.start(model, 0) as runner:
        assert isinstance(runner, SelfWarming)
        runner.warm_up(2)
        samples = runner.run(5, 1)
        outputs = runner.result()

    assert survey.methods == ("one", "two")
    assert survey.env["sdk"].startswith("benchmark_model ")
    assert len(samples) == 1  # it prints an average
    assert samples[0] > 0
    assert runner.load_ns == 855_000
    np.testing.assert_array_equal(outputs["y"], 2 * GIVEN)


@pytest.mark.parametrize("options", [(), ("-DTABS",)], ids=["blanks", "tabs"])
def test_the_operators_of_a_tflite_model_are_timed(stored, fresh, doubling, options):
    stored("benchmark_model", *options)
    with Path(doubling).open("ab") as file:
        file.write(b"OPS:CONV_2D net/a 1.5;ADD net/b 0.25;.")

    with fresh.start(Model(path=doubling, dims={"x.0": 2}), 0) as runner:
        assert isinstance(runner, Profiling)
        profile = runner.profile("execute.one", 5)

    assert profile.plain_ns == 1_750_000
    assert profile.runtime.startswith("benchmark_model ")
    assert [(row.name, row.self_ns) for row in profile.rows] == [
        ("CONV_2D net/a", (1_500_000, 1_500_000)),
        ("ADD net/b", (250_000, 250_000)),
    ]


def test_a_pte_program_is_not_explained_since_its_tool_prints_no_table(stored, fresh, adding):
    stored("executor_runner")
    with fresh.start(Model(path=adding), 0) as runner:
        assert not isinstance(runner, Profiling)


def test_a_pte_program_runs_by_executor_runner_and_answers(stored, fresh, adding):
    stored("executor_runner")
    model = Model(path=adding, inputs={"input0": GIVEN, "input1": GIVEN + 1})

    with fresh.start(model, 0) as runner:
        runner.warm_up(2)
        samples = runner.run(5, 1)
        outputs = runner.result()

    assert len(samples) == 5  # the two of the warm-up are dropped
    assert runner.load_ns == 750_000
    np.testing.assert_array_equal(outputs["output0"], 2 * GIVEN + 1)


def test_made_inputs_are_pushed_and_are_those_of_the_survey(stored, fresh, doubling):
    stored("benchmark_model")
    model = Model(path=doubling, dims={"x.0": 4})

    with fresh.start(model, 0) as runner:
        outputs = runner.result()

    assert outputs["y"].shape == (4, 3)
    assert fresh.survey(model).inputs["one.x"]["shape"] == [4, 3]
    assert len(np.unique(outputs["y"])) > 6


def test_a_runner_that_writes_to_the_phones_log_alone_is_read_there(stored, fresh, adding, tmp_path):
    stored("executor_runner", "-DTO_LOG")

    with fresh.start(Model(path=adding), 0) as runner:
        assert len(runner.run(4, 1)) == 4
    with (
        pytest.raises(CaseError, match=r"signal 6(.|\n)*Execution of method broken failed"),
        fresh.start(Model(path=adding, method="broken"), 0) as runner,
    ):
        runner.run(1, 1)


def test_the_log_is_read_for_a_command_too(stored, fresh, adding, build):
    tool = build("executor_runner", "-DTO_LOG")
    argv = ("executor_runner", f"--model_path={Path(adding).name}", "--num_executions=3")
    command = Command(argv=(argv[0], "--model_path=m.pte", argv[2]), push=(str(tool), adding), read="executor_runner")

    with fresh.start(command, 0) as runner, pytest.raises(CaseError, match=r"Failed to load model m\.pte"):
        runner.run(1, 1)


def test_an_old_benchmark_model_is_refused_for_what_it_would_feed(stored, fresh, doubling):
    stored("benchmark_model", "-DOLD")

    survey = fresh.survey(Model(path=doubling, dims={"x.0": 1}))

    assert survey.methods == ()
    assert "random inputs" in survey.skipped["one"]
    assert "cannot choose a signature" in survey.skipped["two"]


def test_an_old_executor_runner_feeds_ones_runs_the_first_method_and_gives_one_sample(stored, fresh, adding):
    stored("executor_runner", "-DOLD")
    model = Model(path=adding)

    survey = fresh.survey(model)
    with fresh.start(model, 0) as runner:
        runner.warm_up(3)
        samples = runner.run(5, 1)
        outputs = runner.result()

    assert survey.methods == ("forward",)
    assert survey.skipped == {"broken": "this executor_runner only runs the first method; set up a newer one"}
    assert survey.inputs["forward.input0"]["sha256"] == survey.inputs["forward.input1"]["sha256"]
    assert len(samples) == 1
    assert outputs == {}
    with pytest.raises(CaseError, match="takes no inputs"):
        fresh.survey(Model(path=adding, inputs={"input0": GIVEN}))


def test_options_reach_the_tool_and_unknown_ones_are_refused(stored, fresh, doubling, adding):
    stored("benchmark_model")
    stored("executor_runner")
    model = Model(path=doubling, dims={"x.0": 1}, session_options={"use_gpu": True, "num_threads": 2})

    assert fresh.survey(model).env["ep"] == "gpu"
    with fresh.start(model, 0) as runner:
        runner.run(1, 1)
        assert "Explicitly applied GPU delegate: true" in runner._printed
    for wrong in (
        Model(path=doubling, session_options={"num_runs": 2}),
        Model(path=doubling, session_options={"use_npu": True}),
        Model(path=adding, session_options={"output_file": "x"}),
    ):
        with pytest.raises(CaseError, match="no option"):
            fresh.survey(wrong)


def test_memory_is_measured_in_a_separate_start(stored, fresh, adding):
    stored("executor_runner")

    with fresh.start(Model(path=adding), 0) as runner:
        assert runner.load_ns == 750_000  # it was started once for that
        memory = runner.memory(5)

    assert memory is not None
    assert memory.peak > 1 << 20  # any program takes a MiB


def test_rounds_are_starts_of_the_tool_with_an_anchor_if_the_runner_is_set_up(
    stored, setup, fresh, adding, monkeypatch
):
    stored("executor_runner")
    monkeypatch.setattr(Toolchain, "setup", lambda _self: setup)
    start_plan = StartPlan(process=0, rounds=3, total_rounds=3, processes=1, iterations=6)

    with fresh.start(Model(path=adding), 0) as runner:
        start_result = run_start(runner, start_plan, Plan(warmup=1), fresh._clock)

    assert [len(each.samples_ns) for each in start_result.rounds] == [6, 6, 6]
    assert all(each.anchor_ns for each in start_result.rounds)
    assert all(not each.values for each in start_result.rounds)


def test_what_is_not_set_up_names_the_command_that_does_it(stored, fresh, doubling, adding):
    with pytest.raises(Unsupported, match="devperf setup-android --benchmark-model FILE"):
        fresh.survey(Model(path=doubling))
    with pytest.raises(Unsupported, match="devperf setup-android --executor-runner FILE"):
        fresh.start(Model(path=adding), 0)


def test_the_command_stores_a_tool_and_the_phone_counts_as_set_up(stored, fresh, build, capsys, monkeypatch):
    monkeypatch.setattr(Toolchain, "setup", lambda _self: (_ for _ in ()).throw(Unsupported("no runner")))
    assert not fresh.toolchain.runs_models()

    code = main(["setup-android", "--executor-runner", str(build("executor_runner"))])

    assert code == 0
    assert "executor_runner is ready" in capsys.readouterr().out
    assert find_tool("executor_runner", "arm64-v8a", simulated=True).is_file()
    assert fresh.toolchain.runs_models()


def test_the_command_refuses_nothing_and_what_is_no_executable(stored, tmp_path, capsys):
    (tmp_path / "tool.apk").write_bytes(b"PK\x03\x04" + bytes(60))

    assert main(["setup-android"]) == 4
    assert main(["setup-android", "--benchmark-model", str(tmp_path / "tool.apk")]) == 4
    assert "is not an executable benchmark_model" in capsys.readouterr().err
    with pytest.raises(UsageError, match="cannot be read"):
        store_tool("benchmark_model", tmp_path / "nothing")


def test_an_executable_for_android_is_stored_for_its_abi(stored, tmp_path):
    head = b"\x7fELF\x02\x01\x01" + bytes(11) + (183).to_bytes(2, "little") + bytes(40) + b"/system/bin/linker64\0"
    (tmp_path / "benchmark_model").write_bytes(head)

    assert store_tool("benchmark_model", tmp_path / "benchmark_model").parent.name == "arm64-v8a"


def test_a_tool_that_cannot_run_on_the_phone_is_reported(own_setups, fresh, doubling):
    (own_setups / "sim" / "benchmark_model").write_bytes(b"\x7fELF" + bytes(60))

    with pytest.raises(CaseError, match="benchmark_model cannot run on"):
        fresh.survey(Model(path=doubling))


def test_a_tool_that_dies_of_a_signal_has_not_listed_its_options(own_setups, fresh, doubling):
    (own_setups / "sim" / "benchmark_model").write_text("#!/bin/sh\necho loading\nkill -SEGV $$\n")

    with pytest.raises(CaseError, match="benchmark_model cannot run on"):
        fresh.survey(Model(path=doubling))
