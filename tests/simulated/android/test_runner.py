"""The C runner alone, on this machine, against a real runtime library."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.case.workload import Model
from pytest_devperf.targets.android.runner.build import compile_runner
from pytest_devperf.targets.android.runner.manifest import format_manifest, raw_bytes
from pytest_devperf.targets.android.runner.onnx import check
from pytest_devperf.targets.android.runner.setup import LIBRARY, RUNNER, Setup

numpy = pytest.importorskip("numpy")


@pytest.fixture
def folder(tmp_path: Path, setup: Setup, model_path: Path) -> Path:
    """A working folder as it is laid out on a phone."""
    (tmp_path / LIBRARY).symlink_to(setup.library)
    shutil.copy(setup.runner, tmp_path / RUNNER)
    shutil.copy(model_path, tmp_path / "model.onnx")
    lay_out(tmp_path, Model(path=str(model_path), dims={"batch": 2}))
    return tmp_path


def lay_out(folder: Path, model: Model) -> None:
    _, inputs = check(model)[1].select(model)
    for index, array in enumerate(inputs.arrays.values()):
        (folder / f"input{index}.raw").write_bytes(raw_bytes(array))
    (folder / "manifest.txt").write_text(format_manifest(model, inputs.arrays, model_name="model.onnx"))


def run(folder: Path, *words: str, stdin: str = "", **environment: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [f"./{RUNNER}", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_outputs_are_those_of_the_runtime_on_this_machine(folder: Path, model_path: Path) -> None:
    import onnxruntime

    _, inputs = check(Model(path=str(model_path), dims={"batch": 2}))[1].select(Model(path=str(model_path)))
    expected = onnxruntime.InferenceSession(str(model_path)).run(None, dict(inputs.arrays))

    answers = run(folder, "serve", "manifest.txt", stdin="run 1 1 0\noutputs .\nquit\n")

    z, k = answers[2]["outputs"]
    assert (z["name"], z["dtype"], z["shape"], k["dtype"]) == ("z", "float32", [2, 4], "int64")
    assert numpy.array_equal(numpy.fromfile(folder / z["file"], "float32").reshape(2, 4), expected[0])
    assert numpy.array_equal(numpy.fromfile(folder / k["file"], "int64"), expected[1])


def test_a_run_gives_a_time_per_iteration_and_what_surrounded_it(folder: Path) -> None:
    (folder / "cap").write_text("1500000\n")

    about, run_, anchors = run(folder, "serve", "manifest.txt", "policy0=cap", stdin="run 7 3 4\nanchor 2\n")

    assert about["load_ns"] > 0
    assert about["tick_ns"] > 0
    assert "mix64" in about["anchor"]
    assert len(run_["ns"]) == 7
    assert min(run_["ns"]) > 0
    (watched,) = run_["watched"]
    assert (watched["name"], watched["least"], watched["most"]) == ("policy0", 1500000, 1500000)
    assert len(run_["anchor_ns"]) == 4
    assert len(anchors["anchor_ns"]) == 2


def test_a_number_behind_a_key_is_sampled_from_a_file_of_many(folder: Path) -> None:
    (folder / "meminfo").write_text("MemTotal:        800 kB\nMemFree:    1 kB\nMemAvailable:     320 kB\n")
    watched = ("free=meminfo#MemAvailable:", "none=meminfo#Nothing:", "first=/proc/self/stat#no")

    _, run_ = run(folder, "serve", "manifest.txt", *watched, stdin="run 1 1 0\n")

    assert [(each["name"], each["least"]) for each in run_["watched"]] == [("free", 320)]


def test_a_trace_times_each_node_and_the_model_runs_on(folder: Path) -> None:
    from pytest_devperf.explain.nodes import read_trace

    commands = "run 1 1 0\noutputs .\ntrace 5\nrun 2 1 0\noutputs .\nquit\n"
    _, _, before, traced, again, after = run(folder, "serve", "manifest.txt", stdin=commands)

    rows = read_trace((folder / traced["trace"]).read_text())
    assert [row.name.partition(" ")[0] for row in rows] == ["Add", "MatMul", "Tanh"]
    assert {row.calls for row in rows} == {1.0}
    assert len(again["ns"]) == 2
    assert before == after


def test_a_run_holds_what_the_counters_of_its_thread_counted(folder: Path) -> None:
    compiler = next(Path(found) for name in ("cc", "gcc", "clang") if (found := shutil.which(name)))
    compile_runner(compiler, folder / RUNNER, flags=["-DDEVPERF_SOFTWARE_COUNTERS"])

    _, first, second = run(folder, "serve", "manifest.txt", stdin="run 1 1 0\nrun 5000 1 0\n")

    if first["cycles"] is None:
        pytest.skip("this system lets nobody count")
    assert 0 < first["cycles"] < second["cycles"]


def test_without_counters_a_run_is_measured_as_ever(folder: Path) -> None:
    _, answer = run(folder, "serve", "manifest.txt", stdin="run 3 1 0\n")

    assert len(answer["ns"]) == 3
    assert (answer["instructions"] is None) == (answer["cycles"] is None)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_a_thread_never_waits_longer_for_a_cpu_than_the_round_takes(folder: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    hogs = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) for _ in range(3)]
    try:
        commands = "run 1 1 0\n" * 200
        done = subprocess.run(
            ["taskset", "-c", str(cpu), f"./{RUNNER}", "serve", "manifest.txt"],
            cwd=folder,
            input=commands,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()

    _, *rounds = [json.loads(line) for line in done.stdout.splitlines()]

    assert len(rounds) == 200
    assert any(each["waited_ns"] for each in rounds)
    assert all(each["waited_ns"] <= each["wall_ns"] for each in rounds)


def test_reported_times_follow_a_simulated_phone_that_slows_down(folder: Path) -> None:
    slow = folder / "slowdown"
    slow.write_text("1000.0\n")

    words = ("serve", "manifest.txt")
    _, slower = run(folder, *words, stdin="run 5 1 5\n", DEVPERF_SIM_SLOWDOWN=str(slow))
    _, throttled = run(folder, *words, stdin="run 5 1 5\n", DEVPERF_SIM_CLOCKS=str(slow))

    # A factor of 1000 stands out of any noise of the machine. The anchor follows the clocks alone.
    assert min(slower["ns"]) > 50 * min(throttled["ns"])
    assert min(throttled["anchor_ns"]) > 50 * min(slower["anchor_ns"])


def test_schema_shows_names_types_and_symbolic_sizes(folder: Path) -> None:
    (schema,) = run(folder, "schema", "manifest.txt")

    assert [(each["name"], each["dtype"], each["shape"]) for each in schema["inputs"]] == [
        ("x", "float32", ["batch", 8]),
        ("n", "int64", ["batch"]),
    ]
    assert "CPUExecutionProvider" in schema["providers"]


def test_memory_is_taken_from_before_the_load_to_after_the_unload(folder: Path) -> None:
    (sizes,) = run(folder, "memory", "manifest.txt", "5")

    assert 0 < sizes["baseline"] < sizes["loaded"] <= sizes["peak"]
    assert sizes["disposed"] > 0


@pytest.mark.parametrize(
    ("old", "new", "stage", "words"),
    [
        ("./model.onnx", "./nothing.onnx", "load", "nothing.onnx"),
        (f"./{LIBRARY}", "./manifest.txt", "library", "manifest.txt"),
        ("float32 2,8", "float32 4,4", "run", "invalid dimensions"),
        ("float32 2,8", "float99 2,8", "inputs", "float99"),
        ("input x", "input q", "inputs", "'x' was not given"),
        ("input0.raw", "missing.raw", "inputs", "missing.raw"),
    ],
)
def test_errors_are_reported_in_the_runtimes_own_words(
    folder: Path, old: str, new: str, stage: str, words: str
) -> None:
    manifest = folder / "manifest.txt"
    text = manifest.read_text().replace("%2F", "/").replace("%2C", ",")
    assert old in text
    manifest.write_text(text.replace(old, new))

    answers = run(folder, "serve", "manifest.txt", stdin="run 1 1 0\n")

    assert answers[-1]["error"]["stage"] == stage
    assert words.lower() in answers[-1]["error"]["text"].lower()


def test_a_missing_provider_lists_those_there_are(folder: Path) -> None:
    with (folder / "manifest.txt").open("a") as manifest:
        manifest.write("provider XnnpackExecutionProvider\n")

    (answer,) = run(folder, "serve", "manifest.txt")

    assert "XnnpackExecutionProvider is not in this runtime" in answer["error"]["text"]
    assert "CPUExecutionProvider" in answer["error"]["text"]


def test_session_options_and_config_entries_reach_the_runtime(folder: Path, model_path: Path) -> None:
    options = {"intra_op_num_threads": 1, "session.intra_op.allow_spinning": "0", "graph_optimization_level": 0}
    lay_out(folder, Model(path=str(model_path), dims={"batch": 2}, session_options=options))

    _, answer = run(folder, "serve", "manifest.txt", stdin="run 2 1 0\n")

    assert len(answer["ns"]) == 2


def test_the_runner_ends_with_its_input(folder: Path) -> None:
    child = subprocess.Popen(
        [f"./{RUNNER}", "serve", "manifest.txt", "policy0=manifest.txt"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdin is not None
    child.stdout.readline()
    child.stdin.close()

    assert child.wait() == 0
    child.stdout.close()


def test_a_runner_on_a_leash_ends_in_the_middle_of_a_run_when_its_asker_has_gone(folder: Path) -> None:
    child = subprocess.Popen(
        [f"./{RUNNER}", "attend", "manifest.txt"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdin is not None
    child.stdout.readline()
    child.stdin.write(b"run 1000000 1000 0\n")
    child.stdin.close()

    assert child.wait() == -signal.SIGKILL
    child.stdout.close()


def test_text_inputs_and_outputs_travel(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.STRING
    graph = make.make_graph(
        [make.make_node("Identity", ["t"], ["u"])],
        "graph",
        [make.make_tensor_value_info("t", kind, [2])],
        [make.make_tensor_value_info("u", kind, [2])],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])
    model.ir_version = 9
    path = tmp_path_factory.mktemp("texts") / "text.onnx"
    onnx.save(model, str(path))
    shutil.copy(path, folder / "model.onnx")
    lay_out(folder, Model(path=str(path), inputs={"t": numpy.array(["a b", "ü"], object)}))

    answers = run(folder, "serve", "manifest.txt", stdin="run 1 1 0\noutputs .\n")

    assert (folder / answers[-1]["outputs"][0]["file"]).read_bytes() == "a b\0ü\0".encode()
