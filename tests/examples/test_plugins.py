"""The example plugins, installed as an author would install them, through the real hooks and entry points."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.cli import main
from pytest_devperf.sensor.instrument import read_instrument

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLUGINS = Path(__file__).parents[2] / "examples" / "plugins"

RENDERER = """\
#!/bin/sh
i=0
while [ $i -lt $1 ]; do echo "frame $i: 16.$((i % 3)) ms"; i=$((i + 1)); done
echo "dropped $DEVPERF_PROCESS"
"""

SUITE = """
from devperf_rack.frames import parse_frames

def test_render(devperf):
    devperf.command(["./render", "{iterations}"], push=["render"], read=parse_frames)
"""

NEEDS_A_SHELL = pytest.mark.skipif(sys.platform != "linux", reason="the board is this computer, and is asked for /proc")


class Rack:
    """A folder with a suite in it, in a Python in which the example plugins are installed."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def run(self, *args: str) -> pytest.RunResult:
        """Run the suite in a pytest that finds the plugins by their entry points, with one short process start."""
        traced = [] if read_instrument() is None else ["--devperf-accept=instrumented"]
        short = ("--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5", "--devperf-cooldown=off")
        return self.pytester.runpytest_inprocess("-p", "no:randomly", *short, *traced, *args)

    def document(self) -> dict[str, Any]:
        """Read the run document."""
        return json.loads((self.path / "run.json").read_text(encoding="utf-8"))


@pytest.fixture
def rack(pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Rack:
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PLUGINS / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / "devperf_rack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in project["entry-points"].items()
        )
    )
    shutil.copytree(PLUGINS / "devperf_rack", site / "devperf_rack", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(site)
    pytester.makepyfile(test_rendering=SUITE)
    (pytester.path / "render").write_text(RENDERER)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return Rack(pytester)


@NEEDS_A_SHELL
def test_a_command_runs_on_the_board_and_a_reader_reads_what_it_prints(rack: Rack) -> None:
    ran = rack.run("--devperf", "--devperf-target=board:local", "--devperf-json=run.json")
    assert ran.ret == 0
    (run,) = rack.document()["runs"]
    assert run["device"]["kind"] == "board"
    metrics = {each["name"]: each for each in run["cases"][0]["metrics"]}
    assert set(metrics) == {"latency", "dropped"}
    assert metrics["latency"]["samples_ns"] == [[16_000_000, 16_100_000, 16_200_000, 16_000_000, 16_100_000]] * 3
    assert {each for row in metrics["dropped"]["samples"] for each in row} == {0.0}
    assert metrics["dropped"]["unit"] == "frames"


@NEEDS_A_SHELL
def test_every_process_start_is_one_of_the_board(rack: Rack) -> None:
    ran = rack.run("--devperf", "--devperf-target=board:local", "--devperf-processes=3", "--devperf-json=run.json")
    assert ran.ret == 0
    (dropped,) = (each for each in rack.document()["runs"][0]["cases"][0]["metrics"] if each["name"] == "dropped")
    assert {row[0] for row in dropped["samples"]} == {0.0, 1.0, 2.0}


@NEEDS_A_SHELL
def test_a_thermometer_is_in_the_document_and_on_the_terminal(rack: Rack) -> None:
    rack.pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\nthermometers =\n  room=room.txt\n  rack=absent.txt\n"
    )
    (rack.path / "room.txt").write_text("21.5\n")
    ran = rack.run("--devperf", "--devperf-target=board:local", "--devperf-json=run.json", "-v")
    assert ran.ret == 0
    (case,) = rack.document()["runs"][0]["cases"]
    assert case["run_context"]["sensors_max_c"] == {"room": 21.5}
    ran.stdout.fnmatch_lines(["*room: up to 21.5 °C", "caution sensor-failed: rack: FileNotFoundError*"])


@NEEDS_A_SHELL
def test_a_program_that_fails_on_the_board_fails_its_case_with_its_output(rack: Rack) -> None:
    (rack.path / "render").write_text("#!/bin/sh\necho out of memory >&2; exit 3\n")
    ran = rack.run("--devperf", "--devperf-target=board:local")
    assert ran.ret == 1
    ran.stdout.fnmatch_lines(["*exit code 3 on board local: out of memory*"])


@NEEDS_A_SHELL
def test_workloads_that_a_board_cannot_run_are_skipped_with_the_reason(rack: Rack) -> None:
    rack.pytester.makepyfile(test_rendering="def test_call(devperf): devperf(len, [])")
    ran = rack.run("--devperf", "--devperf-target=board:local", "-rs")
    ran.stdout.fnmatch_lines(["*a board runs no call: use devperf.command*"])


@NEEDS_A_SHELL
def test_a_board_that_cannot_be_reached_ends_the_session_before_anything_is_measured(
    rack: Rack, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = rack.pytester.mkdir("bin")
    (folder / "ssh").write_text("#!/bin/sh\necho no route >&2; exit 255\n")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    ran = rack.run("--devperf", "--devperf-target=board:rack-3")
    assert ran.ret == 4
    ran.stderr.fnmatch_lines(["*board rack-3 cannot be reached: no route: try ssh rack-3 true*"])


@NEEDS_A_SHELL
def test_the_command_reaches_a_board_too(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cooldown", "--target=board:local", "--cooldown=0"]) == 0
    assert "waited 0 s" in capsys.readouterr().out
    assert main(["cooldown", "--target=shelf:local"]) == 4
    assert "or install the plugin whose target it is" in capsys.readouterr().err


@NEEDS_A_SHELL
def test_runs_are_saved_in_a_database_and_compared_with(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    there = ("--devperf-target=board:local", "--devperf-store=sqlite:runs.db")
    assert rack.run("--devperf-save=main", *there).ret == 0
    assert rack.run("--devperf-save=main", "--devperf-append", *there).ret == 0
    assert not (rack.path / ".devperf").exists()
    rack.run("--devperf-compare=main", *there).stdout.fnmatch_lines(["devperf: 1 *compared with main"])
    capsys.readouterr()
    assert main(["list", "--store=sqlite:runs.db"]) == 0
    assert "main" in capsys.readouterr().out
    assert main(["show", "main", "--store=sqlite:runs.db"]) == 0
    assert "test_rendering.py::test_render" in capsys.readouterr().out


def test_a_database_that_cannot_be_written_ends_the_session_before_anything_is_measured(rack: Rack) -> None:
    ran = rack.run("--devperf-save=main", "--devperf-store=sqlite:absent/runs.db")
    assert ran.ret == 4
    ran.stderr.fnmatch_lines(["*sqlite:absent/runs.db cannot be used (unable to open database file)*"])


def test_a_file_that_is_not_a_database_is_named_by_the_command(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    (rack.path / "runs.db").write_bytes(b"no database" * 100)
    assert main(["list", "--store=sqlite:runs.db"]) == 4
    assert "sqlite:runs.db cannot be used (file is not a database)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verb", "group"), [("list --store", "stores"), ("cooldown --target", "targets")], ids=["store", "target"]
)
def test_a_plugin_that_breaks_is_named_by_the_command(
    verb: str, group: str, rack: Rack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = rack.pytester.mkdir("broken")
    (site / "broken-1.dist-info").mkdir()
    (site / "broken-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (site / "broken-1.dist-info" / "entry_points.txt").write_text(f"[pytest_devperf.{group}]\nit = broken:make\n")
    monkeypatch.syspath_prepend(site)
    assert main([*verb.split(), "somewhere"]) == 4
    text = (
        f"broken:make, an entry point of pytest_devperf.{group}, failed on 'somewhere' (ModuleNotFoundError: No module"
    )
    assert text in capsys.readouterr().err
