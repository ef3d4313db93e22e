"""Models on the phone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import until

from pytest_devperf.case.plan import Plan
from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, TargetError
from pytest_devperf.explain.profile import Profile
from pytest_devperf.measure.loop import run_start
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.model_file.inputs import make_inputs
from pytest_devperf.model_file.onnx import read_schema
from pytest_devperf.simphone import AdbServer, SimPhone, simulated_phone
from pytest_devperf.targets.android.phone.work_folder import ROOT
from pytest_devperf.targets.android.runner.model import OnnxRunner
from pytest_devperf.targets.android.runner.setup import LIBRARY, RUNNER
from pytest_devperf.targets.android.target import AndroidTarget
from pytest_devperf.targets.protocol import Answering, ContextReporting, Describing, Profiling, Ticking

numpy = pytest.importorskip("numpy")
pytestmark = pytest.mark.usefixtures("setup")

SwitchOn = Callable[..., SimPhone]
Reach = Callable[..., AndroidTarget]


@pytest.fixture
def model(model_path: Path) -> Model:
    return Model(path=str(model_path), dims={"batch": 3})


@pytest.fixture(scope="module")
def own(adb_server: AdbServer) -> Iterator[tuple[SimPhone, AndroidTarget]]:
    """A phone of this file's own, whose state tests may change and put back."""
    with simulated_phone(server=adb_server) as phone:
        target = AndroidTarget(serial=phone.serial, server_port=phone.server_port, clock=phone.clock)
        yield phone, target
        target.close()


def start_plan(rounds: int) -> StartPlan:
    return StartPlan(process=0, rounds=rounds, total_rounds=rounds, processes=1, iterations=10)


def leftovers(target: AndroidTarget) -> str:
    return target.link.script(f"ls {ROOT} | grep -v -e store -e changed", doing="looking").output.strip()


def test_outputs_equal_those_of_this_machines_runtime(target: AndroidTarget, model: Model) -> None:
    import onnxruntime

    feed = make_inputs(read_schema(model.path).inputs, model.dims, None)
    z, k = onnxruntime.InferenceSession(model.path).run(None, dict(feed.arrays))

    with target.start(model, 0) as runner:
        assert isinstance(runner, Answering)
        outputs = runner.result()

    assert numpy.array_equal(outputs["z"], z)
    assert numpy.array_equal(outputs["k"], k)


@pytest.mark.parametrize(
    "name", [RUNNER, LIBRARY, "manifest.txt", "model.onnx", "input0.raw", "sub folder/weights.bin"]
)
def test_weights_of_any_name_lie_beside_the_model_and_over_nothing_of_ours(
    target: AndroidTarget, model: Model, tmp_path: Path, name: str
) -> None:
    onnx = pytest.importorskip("onnx")
    path, weights = tmp_path / "m.onnx", tmp_path / name
    weights.parent.mkdir(exist_ok=True)
    loaded = onnx.load(model.path)
    onnx.save_model(loaded, str(path), save_as_external_data=True, location=name, size_threshold=0)

    with target.start(replace(model, path=str(path)), 0) as runner, target.start(model, 0) as plain:
        assert isinstance(runner, Answering)
        assert isinstance(plain, Answering)
        assert numpy.array_equal(runner.result()["z"], plain.result()["z"])


def test_a_phone_without_the_shell_protocol_runs_models_too(switch_on: SwitchOn, reach: Reach, model: Model) -> None:
    target = reach(switch_on("android9"))

    with target.start(model, 0) as runner:
        assert isinstance(runner, Answering)
        samples = runner.run(3, 1)
        outputs = runner.result()

    assert not target.link.packets
    assert len(samples) == 3
    assert outputs["z"].shape == (3, 4)


def test_the_nodes_of_a_model_are_timed_and_nothing_of_it_stays(
    own: tuple[SimPhone, AndroidTarget], model: Model
) -> None:
    _, target = own
    with target.start(model, 0) as runner:
        assert isinstance(runner, Profiling)
        assert isinstance(runner, Answering)
        before = runner.result()
        profile = runner.profile("execute.forward", 5)
        (folder,) = leftovers(target).split()
        files = target.link.script(f"ls {ROOT}/{folder}", doing="looking").output.split()
        after = runner.result()

    assert isinstance(profile, Profile)
    assert profile.kind == "nodes"
    assert profile.runtime.startswith("onnxruntime ")
    assert profile.plain_ns > 0
    assert [row.name.partition(" ")[0] for row in profile.rows] == ["Add", "MatMul", "Tanh"]
    assert profile.starts == 2  # sessions of this process start
    assert not [name for name in files if name.endswith(".json")]
    assert not leftovers(target)
    assert all(numpy.array_equal(before[name], after[name]) for name in before)


def test_the_counters_of_a_run_are_part_of_its_context(
    target: AndroidTarget, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = property(lambda _: {"instructions": 900, "cycles": 300})
    with target.start(model, 0) as runner:
        assert isinstance(runner, ContextReporting)
        monkeypatch.setattr("pytest_devperf.targets.android.runner.reply.RunnerReply.counters", counted)
        runner.run(3, 1)
        assert runner.round_context().counters == {"instructions": 900, "cycles": 300}


def test_an_unreadable_trace_is_one_line(target: AndroidTarget, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.phone.work_folder.WorkFolder.read", lambda *_: b"[")
    with target.start(model, 0) as runner:
        assert isinstance(runner, OnnxRunner)
        with pytest.raises(TargetError, match=r"the times of the model's nodes on .* cannot be read"):
            runner.profile("execute.forward", 3)


def test_a_process_start_is_measured_by_the_common_loop(target: AndroidTarget, model: Model, phone: SimPhone) -> None:
    with target.start(model, 0) as runner:
        assert isinstance(runner, Ticking)
        start_result = run_start(runner, start_plan(3), Plan(), phone.clock)

    assert len(start_result.rounds) == 3
    assert all(len(each.samples_ns) == 10 for each in start_result.rounds)
    assert all(each.anchor_ns is not None and each.cpu_ns for each in start_result.rounds)
    assert all(each.throttled is False and each.temp_c is not None for each in start_result.rounds)
    assert start_result.tick_ns


def test_a_round_takes_three_round_trips_at_most(target: AndroidTarget, model: Model, phone: SimPhone) -> None:
    with target.start(model, 0) as runner:
        run_start(runner, start_plan(1), Plan(), phone.clock)
        before = phone.commands_run
        run_start(runner, start_plan(4), Plan(warmup=0), phone.clock)
        after = phone.commands_run

    # The runner itself is asked over a stream that stays open: a look per round, and one for the probe, are commands.
    assert after - before <= 4 + 2


def test_heat_during_a_round_is_reported_with_it(own: tuple[SimPhone, AndroidTarget], model: Model) -> None:
    phone, target = own
    with target.start(model, 0) as runner:
        assert isinstance(runner, ContextReporting)
        runner.run(2, 1)
        cool = runner.round_context().throttled
        phone.advance(1800, load_cores=phone.personality.body.cores)
        runner.run(2, 1)
        hot = runner.round_context().throttled
        phone.advance(3600)

    assert (cool, hot) == (False, True)


def test_a_slower_phone_takes_longer(own: tuple[SimPhone, AndroidTarget], model: Model) -> None:
    phone, target = own
    with target.start(model, 0) as runner:
        plain = min(runner.run(20, 10))
        phone.slow_down(50.0)
        phone.clock.sleep(1.0)
        until(lambda: min(runner.run(20, 10)) > 5 * plain)  # the file with it is refreshed in the background
        phone.slow_down(1.0)


def test_memory_is_above_its_baseline(target: AndroidTarget, model: Model) -> None:
    with target.start(model, 0) as runner:
        memory = runner.memory(5)

    assert memory is not None
    assert memory.loaded is not None
    assert 0 < memory.baseline < memory.loaded <= memory.peak


def test_the_survey_needs_no_runtime_and_the_runner_names_it(target: AndroidTarget, model: Model) -> None:
    with target.start(model, 0) as runner:
        pass
    survey = target.survey(model)

    assert survey.methods == ("forward",)
    assert survey.inputs["x"]["shape"] == [3, 8]
    assert isinstance(runner, Describing)
    assert str(runner.env["sdk"]).startswith("onnxruntime ")
    assert target.look().anchor is not None


def test_nothing_of_a_start_is_left_on_the_phone(target: AndroidTarget, model: Model) -> None:
    with target.start(model, 0) as runner:
        runner.run(1, 1)

    assert leftovers(target) == ""


def test_nothing_is_left_when_the_test_fails(target: AndroidTarget, model: Model) -> None:
    with pytest.raises(ZeroDivisionError), target.start(model, 0):
        raise ZeroDivisionError

    assert leftovers(target) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"providers": ("NoSuchExecutionProvider",)}, "NoSuchExecutionProvider is not in this runtime"),
        ({"session_options": {"nonsense": 1}}, "'nonsense' is not known"),
        ({"method": "backward"}, "no method 'backward'"),
        ({"inputs": {"q": [1]}}, "no input 'q'"),
    ],
)
def test_a_wrong_model_case_fails_in_one_line(
    target: AndroidTarget, model_path: Path, change: dict[str, object], words: str
) -> None:
    model = Model(**{"path": str(model_path), "dims": {"batch": 3}, **change})

    with pytest.raises(CaseError, match=words) as caught, target.start(model, 0):
        pass
    assert "\n" not in str(caught.value)


def test_a_model_whose_sizes_are_open_fails_with_what_a_test_has_to_pass(
    target: AndroidTarget, model_path: Path
) -> None:
    model = Model(path=str(model_path))

    with pytest.raises(CaseError, match=r"'batch' has no fixed size; pass dims=\{'batch': N\}"), target.start(model, 0):
        pass
    with pytest.raises(CaseError, match="'batch' has no fixed size"):
        target.survey(model).require_method()


def test_a_size_of_zero_is_a_size(target: AndroidTarget, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    slots = [helper.make_tensor_value_info(name, kind, [size, 3]) for name, size in (("a", "past"), ("b", 2))]
    result = helper.make_tensor_value_info("y", kind, ["all", 3])
    graph = helper.make_graph([helper.make_node("Concat", ["a", "b"], ["y"], axis=0)], "g", slots, [result])
    path = tmp_path / "cache.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    with target.start(Model(path=str(path), dims={"past": 0}), 0) as runner:
        runner.run(2, 1)
        assert runner.result()["y"].shape == (2, 3)


def test_indices_beyond_a_table_name_the_input_that_was_made(target: AndroidTarget, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    table = onnx.numpy_helper.from_array(numpy.zeros((2, 3), dtype=numpy.float32), "table")
    ids = helper.make_tensor_value_info("ids", kinds.INT64, [50])
    result = helper.make_tensor_value_info("y", kinds.FLOAT, [50, 3])
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["y"])], "g", [ids], [result], [table])
    path = tmp_path / "table.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    with (
        pytest.raises(CaseError, match=r"pass inputs=\{'ids': array\}"),
        target.start(Model(path=str(path)), 0) as runner,
    ):
        runner.run(1, 1)


def test_a_runner_that_is_killed_fails_its_case_with_a_clear_line(target: AndroidTarget, model: Model) -> None:
    with target.start(model, 0) as runner:
        assert isinstance(runner, OnnxRunner)
        target.link.script(f"kill -9 {runner.about.pid}", doing="killing")
        with pytest.raises(CaseError, match=r"ended on Google Pixel 8 \(killed by signal 9\)"):
            runner.run(1, 1)


def test_a_run_that_never_ends_is_ended(target: AndroidTarget, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.runner.model.UNKNOWN_S", 1.0)
    with target.start(model, 0) as runner:
        assert isinstance(runner, OnnxRunner)
        with pytest.raises(TargetError, match=r"did not answer on Google Pixel 8 within 1 s and was ended"):
            runner.run(1_000_000, 1000)
        look = f"grep State /proc/{runner.about.pid}/status; true"
        state = target.link.script(look, doing="looking").output

    assert state.strip() == "" or "Z" in state


@pytest.mark.usefixtures("usual_signals")
def test_an_interrupt_in_a_run_ends_the_program_at_once(target: AndroidTarget, model: Model) -> None:
    pids: list[int] = []

    with pytest.raises(KeyboardInterrupt):
        interrupted(target, model, pids)

    state = target.link.script(f"grep State /proc/{pids[0]}/status; true", doing="looking").output.strip()
    assert state == "" or "Z" in state


def interrupted(target: AndroidTarget, model: Model, pids: list[int]) -> None:
    with target.start(model, 0) as runner:
        assert isinstance(runner, OnnxRunner)
        pids.append(runner.about.pid)
        main = threading.main_thread().ident
        timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        runner.run(1_000_000, 1000)


def test_a_full_phone_reports_it(switch_on: SwitchOn, reach: Reach, model: Model) -> None:
    target = reach(switch_on(mishap="disk-full"))

    with pytest.raises(TargetError, match=r"Pixel 8 (has 0 MiB free|refused .*[Nn]o space)"), target.start(model, 0):
        pass


@pytest.mark.parametrize("mishap", ["dies-mid-run", "dies-mid-push"])
def test_a_phone_that_dies_gives_one_clear_error(
    switch_on: SwitchOn, reach: Reach, model: Model, monkeypatch: pytest.MonkeyPatch, mishap: str
) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 0.5)
    target = reach(switch_on(mishap=mishap))

    with pytest.raises(TargetError, match="stopped answering while"):
        run_for_long(target, model)


def test_a_link_that_drops_and_comes_back_fails_the_case_it_broke_and_no_other(
    switch_on: SwitchOn, reach: Reach, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 600.0)
    phone = switch_on()
    target = reach(phone)
    with target.start(model, 0) as runner:
        phone.leave(0.5)
        with pytest.raises(TargetError, match="Google Pixel 8 stopped answering while running"):
            runner.run(5, 1)

    with target.start(model, 1) as runner:
        assert len(runner.run(5, 1)) == 5


def run_for_long(target: AndroidTarget, model: Model) -> None:
    with target.start(model, 0) as runner:
        for _ in range(200):
            runner.run(50, 100)
