"""Hooks: called with what the contract names, and a conftest's answer beats ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite


ON_THIS_MACHINE = (
    "--devperf",
    "--devperf-target=host",
    "--devperf-processes=1",
    "--devperf-rounds=3",
    "--devperf-iterations=5",
    "--devperf-json=run.json",
)


def _conftest(suite: Suite, source: str) -> None:
    import textwrap

    path = suite.path / "conftest.py"
    path.write_text(path.read_text() + "\n" + textwrap.dedent(source))


def test_a_conftest_judges_in_our_stead(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    _conftest(
        two_cases,
        """
        from pytest_devperf.record.record import Change, Comparison
        def pytest_devperf_compare(config, record, baseline, policy):
            assert policy.rule == "proven"
            assert baseline.runs[0].record.id == record.id
            if not record.id.endswith("fast"):
                return None
            change = Change(metric="latency", verdict="regressed", unit="ms", baseline=1.0, candidate=2.0,
                            delta=1.0, delta_pct=100.0, threshold=0.1, decided_by="iqr", reason="because")
            return Comparison(verdict="regressed", changes=(change,), reason="because")
        """,
    )
    result = two_cases.run("--devperf-compare=base", "-v")
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_fast REGRESSED*"])


def test_hooks_receive_every_finished_case_and_the_report(two_cases: Suite) -> None:
    _conftest(
        two_cases,
        """
        import json, pathlib
        def pytest_devperf_recorded(config, record):
            with pathlib.Path(config.rootpath, "reported.txt").open("a") as file:
                file.write(f"{record.id} {record.outcome} {len(record.metrics)}\\n")
        def pytest_devperf_report(config, report):
            with pathlib.Path(config.rootpath, "reported.txt").open("a") as file:
                file.write(f"{len(report.runs)} run, {dict(report.counts)}\\n")
        """,
    )
    two_cases.run("--devperf")
    assert (two_cases.path / "reported.txt").read_text().splitlines() == [
        "test_two.py::test_fast passed 1",
        "test_two.py::test_slow passed 1",
        "1 run, {'measured': 2}",
    ]


def test_a_report_of_pytest_carries_the_record_as_plain_data(two_cases: Suite) -> None:
    _conftest(
        two_cases,
        """
        import json, pathlib
        def pytest_runtest_logreport(report):
            if report.when == "call" and hasattr(report, "devperf"):
                pathlib.Path(report.nodeid.rpartition("::")[2] + ".json").write_text(json.dumps(report.devperf))
        """,
    )
    two_cases.run("--devperf")
    record = json.loads((two_cases.path / "test_slow.json").read_text())
    assert record["id"] == "test_two.py::test_slow"
    assert record["metrics"][0]["name"] == "latency"


def test_a_store_of_the_users_own_keeps_and_gives_back(two_cases: Suite) -> None:
    _conftest(
        two_cases,
        """
        RUNS = []
        class Memory:
            def __str__(self): return "memory"
            def check_writable(self): RUNS.append("checked")
            def save(self, run):
                (config_root / "kept.bin").write_bytes(encode(Document(runs=(run,))))
                return "memory:1"
            def shelves(self): return ()
            def runs(self, fingerprint, label, *, newest=False):
                path = config_root / "kept.bin"
                if not path.exists(): return ()
                return [r for r in decode(path.read_bytes(), "kept").runs if r.device.fingerprint == fingerprint]
        from pytest_devperf.record.codec import decode, encode
        from pytest_devperf.record.record import Document
        def pytest_devperf_make_store(config, spec):
            global config_root
            config_root = config.rootpath
            return Memory() if spec == "memory" else None
        """,
    )
    assert two_cases.run("--devperf-save=base", "--devperf-store=memory").ret == 0
    assert (two_cases.path / "kept.bin").exists()
    assert two_cases.saved() == []
    result = two_cases.run("--devperf-compare=base", "--devperf-store=memory")
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: 2 within noise; compared with base"


def test_a_conftests_target_beats_ours_and_a_marker_pins_a_case_to_it(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        import pytest
        def work(): pass
        @pytest.mark.devperf(target="virtual")
        def test_pinned(devperf): devperf(work)
        """
    )
    _conftest(
        suite,
        """
        _ours = pytest_devperf_make_target
        def pytest_devperf_make_target(config, spec):
            return _ours(config, "virtual") if spec == "host" else _ours(config, spec)
        """,
    )
    result = suite.pytester.runpytest_inprocess(
        "--devperf", "--devperf-target=host", "--devperf-json=run.json", "--devperf-cooldown=off"
    )
    assert result.ret == 0
    assert {run["device"]["kind"] for run in suite.document()["runs"]} == {"virtual"}


def test_the_load_of_this_machine_is_not_that_of_another_device(two_cases: Suite) -> None:
    two_cases.run("--devperf", "--devperf-json=run.json")
    contexts = [case["run_context"] for case in two_cases.cases().values()]
    assert [(each["prerun_cpu_pct"], each["prerun_free_ram_mb"]) for each in contexts] == [(None, None)] * 2


def test_sensors_of_a_plugin_are_asked_with_a_shell(suite: Suite) -> None:
    suite.pytester.makepyfile("def work(): pass\ndef test_it(devperf): devperf(work)")
    _conftest(
        suite,
        """
        import pathlib
        def pytest_devperf_sensors(config, target):
            assert target.device.kind == "host"
            def reading(shell):
                with pathlib.Path(config.rootpath, "asked.txt").open("a") as file:
                    file.write(shell("echo asked"))
                return 41.5
            return {"mine": reading, "unknown": lambda shell: None}
        """,
    )
    result = suite.pytester.runpytest_inprocess(*ON_THIS_MACHINE)
    assert result.ret == 0
    assert set((suite.path / "asked.txt").read_text().splitlines()) == {"asked"}
    (run,) = suite.document()["runs"]
    assert run["run_context"]["sensors_max_c"] == {"mine": 41.5}
    assert run["cases"][0]["run_context"]["sensors_max_c"] == {"mine": 41.5}


@pytest.mark.slow
def test_each_round_on_this_machine_keeps_the_readings_right_after_it(suite: Suite) -> None:
    suite.pytester.makepyfile("def work(): pass\ndef test_it(devperf): devperf(work)")
    _conftest(
        suite,
        """
        from dataclasses import replace
        from pytest_devperf.sensor.host.machine import Machine

        read = Machine.look

        def look(self, at_ns, *, quick=False):
            return replace(read(self, at_ns, quick=quick), temp_c=47.5, max_khz={"policy0": 5, "policy1": 9})

        Machine.look = look
        """,
    )
    # In a separate process: the next test wants the sensors back.
    suite.pytester.runpytest_subprocess(*ON_THIS_MACHINE, "--devperf-processes=2", "--devperf-rounds=4")
    (metric,) = suite.document()["runs"][0]["cases"][0]["metrics"]
    assert metric["process"] == [0, 0, 1, 1]
    assert metric["temp_c"] == [47.5] * 4
    assert metric["clock_khz"] == [9] * 4


@pytest.mark.parametrize(
    ("reading", "note"),
    [
        ("1 / 0", "mine: ZeroDivisionError('division by zero')"),
        ("float('nan')", "mine: nan is not a temperature"),
        ("'hot'", "mine: 'hot' is not a temperature"),
        ("10 ** 400", "mine: OverflowError('int too large to convert to float')"),
        ("float(shell('exit 3'))", "mine: 'exit 3' ended with exit code 3: no answer"),
    ],
)
def test_a_sensor_that_fails_is_not_known_and_shows_why(suite: Suite, reading: str, note: str) -> None:
    suite.pytester.makepyfile("def work(): pass\ndef test_it(devperf): devperf(work)")
    _conftest(suite, f"def pytest_devperf_sensors(config, target): return {{'mine': lambda shell: {reading}}}")
    result = suite.pytester.runpytest_inprocess(*ON_THIS_MACHINE)
    assert result.ret == 0
    (case,) = suite.cases().values()
    assert case["run_context"]["sensors_max_c"] == {}
    assert f"sensor {note}" in case["run_context"]["notes"]
    assert f"caution sensor-failed: {note}" in suite.flat(result)


def test_sensors_of_a_plugin_are_on_the_terminal(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    suite.pytester.makepyfile("def work(): pass\ndef test_it(devperf): devperf(work)")
    _conftest(suite, "def pytest_devperf_sensors(config, target): return {'room': lambda shell: 21.5}")
    result = suite.pytester.runpytest_inprocess(*ON_THIS_MACHINE, "-v")
    header = suite.flat(result).partition("rootdir:")[0].partition("devperf device: ")[2]
    assert "room up to 21.5 °C" in header
    assert "  room: up to 21.5 °C" in result.outlines
    from pytest_devperf.cli import main

    capsys.readouterr()
    assert main(["show", str(suite.path / "run.json"), "-v"]) == 0
    assert capsys.readouterr().out.count("room") == 2


def test_sensors_are_read_in_every_process_start(suite: Suite) -> None:
    suite.pytester.makepyfile("def work(): pass\ndef test_it(devperf): devperf(work)")
    suite.pytester.makeconftest(
        """
        import os
        START = int(os.environ.get("PYTEST_DEVPERF_PROCESS", "0"))
        def read(shell):
            if START == 1:
                raise LookupError("unplugged")
            return 40.0 + START
        def pytest_devperf_sensors(config, target):
            return {"mine": read, "other": lambda shell: float(shell("echo 30"))}
        """
    )
    result = suite.run_here("--devperf", "--devperf-processes=3", "--devperf-rounds=3", "--devperf-json=run.json")
    assert result.ret == 0
    (case,) = suite.cases().values()
    assert case["run_context"]["sensors_max_c"] == {"mine": 42.0, "other": 30.0}
    assert case["caution_notes"]["sensor-failed"] == "mine: LookupError('unplugged')"


def test_sensors_of_a_plugin_belong_to_the_device_of_another_one_too(two_cases: Suite) -> None:
    _conftest(
        two_cases,
        """
        def pytest_devperf_sensors(config, target):
            assert target.device.kind == "virtual"
            return {"room": lambda shell: 21.5, "inside": lambda shell: float(shell("cat /temp"))}
        """,
    )
    assert two_cases.run("--devperf", "--devperf-json=run.json").ret == 0
    for case in two_cases.cases().values():
        assert case["run_context"]["sensors_max_c"] == {"room": 21.5}
        assert case["caution_notes"]["sensor-failed"] == (
            "inside: one has no shell for 'cat /temp': read it on this machine"
        )


@pytest.mark.parametrize("answer", ["['mine']", "{1: len}", "{'mine': 41.5}"])
def test_sensors_that_are_no_functions_by_name_end_the_session(two_cases: Suite, answer: str) -> None:
    _conftest(two_cases, f"def pytest_devperf_sensors(config, target): return {answer}")
    result = two_cases.run("--devperf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "return a dict: name -> function" in result.stderr.str()


def test_a_clock_of_the_users_own_does_all_the_waiting(suite: Suite) -> None:
    suite.pytester.makepyfile("def work(): pass\ndef test_it(devperf): devperf(work)")
    _conftest(
        suite,
        """
        import pathlib
        _sleep = VirtualClock.sleep
        def slept(self, seconds):
            with pathlib.Path("slept.txt").open("a") as file:
                file.write(f"{seconds:g}\\n")
            _sleep(self, seconds)
        VirtualClock.sleep = slept
        """,
    )
    result = suite.run("--devperf", "--devperf-round-cooldown=7000", "--devperf-max-time=1000000")
    assert result.ret == 0
    assert "7000" in (suite.path / "slept.txt").read_text().split()


def test_unknown_hooks_of_ours_are_refused_by_pytest(suite: Suite) -> None:
    _conftest(suite, "def pytest_devperf_recrded(config, record): pass")
    suite.pytester.makepyfile("def test_it(devperf): devperf(len, [])")
    result = suite.run("--devperf")
    assert result.ret not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
