"""What surrounds a phone's cases is the phone's own: its load, its memory, its software, its heat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_devperf.errors import TargetError
from pytest_devperf.session.devices.cooler import Cooler
from pytest_devperf.simphone.state.family import personality_named

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
        "pytest_devperf.sensor.host.machine.Machine.prerun", lambda *_: pytest.fail("the workstation was looked at")
    )

    result = tool.run("--devperf-json=run.json", f"--devperf-processes={processes}")

    context = context_of(tool, "test_tool.py::test_tool")
    assert result.ret == 0
    assert context["prerun_free_ram_mb"] == pytest.approx(PHONE_MB * 2 / 5, rel=0.01)
    assert 0 <= context["prerun_cpu_pct"] <= 100
    assert context["during"]["peak_ram_mb"] == pytest.approx(PHONE_MB * 3 / 5, rel=0.01)
    assert context["during"]["mean_cpu_pct"] is not None


def test_an_apps_cases_contain_the_load_of_the_phone_before_them(app: Session) -> None:
    app.run("--devperf-json=run.json", "--devperf-processes=2")

    assert context_of(app, "test_app.py::test_app[sort]")["prerun_free_ram_mb"] is not None


def test_a_phone_that_cannot_cool_is_measured_within_the_limits_in_the_header(tool: Session) -> None:
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


def test_a_model_and_a_command_have_the_phones_memory_and_each_its_own_software(
    session: Session, tmp_path: Any
) -> None:
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

    contexts = [context_of(session, f"test_both.py::{name}") for name in ("test_model", "test_tool")]
    model_env, tool_env = (context["env"] for context in contexts)
    assert result.ret == 0
    assert model_env["ep"] == "CPUExecutionProvider"
    assert model_env["sdk"].startswith("onnxruntime ")
    assert (tool_env["ep"], tool_env["sdk"]) == (None, None)
    for context in contexts:
        assert context["during"]["peak_ram_mb"] == pytest.approx(PHONE_MB * 3 / 5, rel=0.01)
    assert json.loads((session.path / "run.json").read_text())["runs"][0]["run_context"]["env"]["sdk"]


def test_a_phone_that_does_not_show_whether_it_throttles_reports_it_on_the_terminal(tool: Session) -> None:
    result = tool.run(target="sim:hal-not-ready")

    assert result.ret == 0
    assert "caution unknown-throttling: nothing shows whether the device throttled (thermalservice: HAL" in flat(result)


def test_every_start_on_a_phone_has_a_separate_process(tool: Session) -> None:
    tool.run("--devperf-json=run.json")

    assert "shared-process" not in tool.cases()["test_tool.py::test_tool"]["cautions"]


@pytest.mark.parametrize(("named", "rest_s"), [((), 0.5), (("--devperf-round-cooldown=0.1",), 0.1)])
def test_the_settings_hold_the_wait_between_rounds_that_there_was(
    tool: Session, named: tuple[str, ...], rest_s: float
) -> None:
    tool.run("--devperf-json=run.json", *named)

    document = json.loads((tool.path / "run.json").read_text())
    assert document["runs"][0]["settings"]["round_cooldown_s"] == rest_s


@pytest.mark.parametrize("target", ["sim", "host"])
def test_a_named_target_on_which_every_case_was_skipped_by_its_fixtures_fails_the_session(
    session: Session, target: str
) -> None:
    session.pytester.makepyfile(
        test_skipped="""
        import pytest

        @pytest.fixture
        def weights():
            pytest.skip("no weights here")

        def test_tool(devperf, weights):
            devperf.command(["true"])
        """
    )

    named = session.run(target=target)
    chosen = session.run(target="auto")

    assert named.ret == 1
    named.assert_outcomes(skipped=1)
    assert chosen.ret == 0


def test_a_case_that_failed_as_expected_ran(session: Session) -> None:
    session.pytester.makepyfile(
        test_expected="""
        import pytest

        @pytest.mark.xfail(reason="not yet")
        def test_tool(devperf):
            devperf.command(["false"])
        """
    )

    assert session.run().ret == 0


def test_a_case_pinned_to_a_phone_is_skipped_if_nothing_is_measured(session: Session) -> None:
    session.pytester.makepyfile(
        test_pinned="""
        import pytest

        @pytest.mark.devperf(target="android")
        def test_phone(devperf):
            raise AssertionError("it ran on the host")

        @pytest.mark.devperf(target="host")
        def test_here(devperf):
            assert devperf(len, []) == 0
        """
    )

    result = session.pytester.runpytest_inprocess("-rs")

    assert result.ret == 0
    result.assert_outcomes(passed=1, skipped=1)
    assert "pinned to the target android, which only --devperf measures on" in flat(result)


def test_a_tracer_of_this_process_does_not_affect_a_phone(tool: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("starts.notes", "readiness"):
        monkeypatch.setattr(f"pytest_devperf.session.{module}.read_instrument", lambda: "coverage")
    saving = tool.run("--devperf-save=base")

    result = tool.run("--devperf-compare=base")

    assert saving.ret == result.ret == 0
    assert "instrumented" not in flat(saving) + flat(result)


SENSORS = """
def read_brand(shell):
    return 35.0 if shell("getprop ro.devperf.simulated").strip() else None

def pytest_devperf_sensors(config, target):
    assert target.device.kind == "sim"
    return {
        "on the phone": read_brand,
        "beside it": lambda shell: 21.5,
        "broken": lambda shell: float(shell("cat /sys/absent")),
    }
"""


@pytest.mark.parametrize(("of", "case"), [("tool", "test_tool.py::test_tool"), ("app", "test_app.py::test_app[sort]")])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_sensors_of_a_plugin_ask_the_phone(request: pytest.FixtureRequest, of: str, case: str, processes: str) -> None:
    session: Session = request.getfixturevalue(of)
    conftest = session.path / "conftest.py"
    conftest.write_text(conftest.read_text() + SENSORS)

    result = session.run("--devperf-json=run.json", f"--devperf-processes={processes}", "-v")

    found = session.cases()[case]
    assert result.ret == 0
    assert found["run_context"]["sensors_max_c"] == {"on the phone": 35.0, "beside it": 21.5}
    assert found["caution_notes"]["sensor-failed"].startswith("broken: 'cat /sys/absent' ended with exit code 1: ")
    assert "caution sensor-failed: broken: 'cat /sys/absent' ended with exit code 1: " in flat(result)
    assert "beside it: up to 21.5 °C" in flat(result)
