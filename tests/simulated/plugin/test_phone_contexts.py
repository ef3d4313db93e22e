"""What surrounds a phone's cases is the phone's own: its load, its memory, its software, its heat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_devperf.errors import TargetError
from pytest_devperf.plugin.cooler import Cooler
from pytest_devperf.simphone.family import personality_named

Session = Any
"""The fixtures' own class; conftest files are not imported."""

PHONE_MB = personality_named("pixel-tensor").memory_kib * 1024 / 1e6


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def context_of(session: Session, case: str) -> dict[str, Any]:
    context: dict[str, Any] = session.cases()[case]["run_context"]
    return context


@pytest.mark.parametrize("processes", ["1", "2"])
def test_load_and_memory_are_the_phones_own_before_and_during_the_run(
    tool: Session, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    monkeypatch.setattr(
        "pytest_devperf.sensor.machine.Machine.prerun", lambda *_: pytest.fail("the workstation was looked at")
    )

    result = tool.run("--devperf-json=run.json", f"--devperf-processes={processes}")

    context = context_of(tool, "test_tool.py::test_tool")
    assert result.ret == 0
    assert context["prerun_free_ram_mb"] == pytest.approx(PHONE_MB * 2 / 5, rel=0.01)
    assert 0 <= context["prerun_cpu_pct"] <= 100
    assert context["during"]["peak_ram_mb"] == pytest.approx(PHONE_MB * 3 / 5, rel=0.01)
    assert context["during"]["mean_cpu_pct"] is not None


def test_an_apps_cases_are_told_what_the_phone_was_busy_with_before(app: Session) -> None:
    app.run("--devperf-json=run.json", "--devperf-processes=2")

    assert context_of(app, "test_app.py::test_app[sort]")["prerun_free_ram_mb"] is not None


def test_a_phone_that_cannot_cool_is_measured_within_the_bounds_that_the_header_says(tool: Session) -> None:
    bounds = ("--devperf-cooldown=auto", "--devperf-cooldown-max=40", "--devperf-cooldown-floor=10")

    result = tool.run("--devperf-json=run.json", *bounds, target="sim:pixel-tensor:cannot-cool")

    (case,) = tool.cases().values()
    assert result.ret == 0
    assert "given up to 40 s to cool before each pass, and up to 40 s a case before rounds" in flat(result)
    assert "throttled" in case["cautions"]
    assert any("measured warm: not cool after 4" in note for note in case["run_context"]["notes"])


def test_a_phone_that_goes_away_between_two_passes_fails_its_cases_by_name(
    tool: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[object] = []
    real = Cooler.before_pass

    def before_pass(self: Cooler, target: Any, plan: Any) -> Any:
        waited.append(target)
        if len(waited) > 1:
            raise TargetError("Google Pixel 8 stopped answering while reading its sensors", "check the cable")
        return real(self, target, plan)

    monkeypatch.setattr(Cooler, "before_pass", before_pass)

    result = tool.run("--devperf-processes=2")

    assert result.ret == 1
    result.assert_outcomes(failed=1)
    assert "Google Pixel 8 stopped answering while reading its sensors" in flat(result)


def test_a_models_software_is_in_no_other_cases_context(session: Session, tmp_path: Any) -> None:
    onnx = pytest.importorskip("onnx")
    make, kinds = onnx.helper, onnx.TensorProto
    graph = make.make_graph(
        [make.make_node("Add", ["x", "x"], ["y"])],
        "graph",
        [make.make_tensor_value_info("x", kinds.FLOAT, [2])],
        [make.make_tensor_value_info("y", kinds.FLOAT, [2])],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, str(session.path / "m.onnx"))
    session.pytester.makepyfile(
        test_both="""
        def test_model(devperf):
            devperf.model("m.onnx")

        def test_tool(devperf):
            devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])
        """
    )

    result = session.run("--devperf-json=run.json", "--devperf-provider=CPUExecutionProvider")

    model_env, tool_env = (context_of(session, f"test_both.py::{name}")["env"] for name in ("test_model", "test_tool"))
    assert result.ret == 0
    assert model_env["ep"] == "CPUExecutionProvider"
    assert model_env["sdk"].startswith("onnxruntime ")
    assert (tool_env["ep"], tool_env["sdk"]) == (None, None)
    assert json.loads((session.path / "run.json").read_text())["runs"][0]["run_context"]["env"]["sdk"]
