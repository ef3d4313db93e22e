"""Apps on a phone that host their own cases."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
from waiting import running

Session = Any
"""The fixtures' own class; conftest files are not imported."""

SORT, DECODE = "test_app.py::test_app[sort]", "test_app.py::test_app[decode]"


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def test_every_case_of_an_app_is_a_report_with_a_separate_record_and_verdict(app: Session) -> None:
    saving = app.run("--devperf-save=base")
    app.app_does(sort=1_000_000, decode=2_600_000)

    result = app.run("--devperf-compare=base", "--devperf-json=run.json", "--junitxml=junit.xml", "-v")

    assert saving.ret == 0
    assert result.ret == 1
    assert f"{SORT} PASSED" in result.stdout.str()
    assert f"{DECODE} REGRESSED" in result.stdout.str()
    assert "devperf: 1 REGRESSED, 1 within noise; compared with base" in result.outlines
    assert {name: case["comparison"]["verdict"] for name, case in app.cases().items()} == {
        SORT: "within_noise",
        DECODE: "regressed",
    }
    assert app.cases()[SORT]["workload"]["facts"] == {"size": 1}
    junit = (app.path / "junit.xml").read_text()
    assert 'name="test_app[decode]"' in junit
    assert 'tests="3" ' in junit


def test_rounds_are_spread_over_launches_and_later_ones_leave_out_what_is_certain(app: Session) -> None:
    result = app.run("--devperf-rounds=6", "--devperf-processes=3", "--devperf-save=base", "--devperf-json=run.json")

    assert result.ret == 0
    assert [launch["rounds"] for launch in app.launches] == [2, 2, 2]
    assert len({launch["run"] for launch in app.launches}) == 3
    (latency,) = app.cases()[SORT]["metrics"]
    assert latency["process"] == [0, 0, 1, 1, 2, 2]

    app.app_does(sort=1_300_000, decode=2_000_000)
    app.run("--devperf-rounds=6", "--devperf-processes=3", "--devperf-compare=base")

    # three launches; decode passes early, sort is suspect and measured again in three more
    again = app.launches[3:]
    assert len(again) == 6
    assert all(launch["done"] == ["decode"] for launch in again[-3:])


def test_one_case_can_be_asked_for_alone(app: Session) -> None:
    app.run("--devperf-save=base")

    result = app.run("--devperf-compare=base", "--devperf-only=decode", "--devperf-json=run.json")

    assert result.ret == 0
    assert app.launches[-1]["only"] == "decode"
    assert list(app.cases()) == [DECODE]
    assert "MISSING" not in result.stdout.str()


def test_an_app_that_dies_is_started_again_and_only_the_case_it_died_in_fails(app: Session) -> None:
    app.app_does(sort=1_000_000, decode=2_000_000, how={"dies_in": "sort"})

    result = app.run("--devperf-json=run.json")

    assert result.ret == 1
    assert app.launches[1]["begun"] == ["sort"]
    cases = app.cases()
    assert (cases[SORT]["outcome"], cases[SORT]["reason"]) == ("failed", "the app died in this case")
    assert cases[DECODE]["outcome"] == "passed"


@pytest.mark.parametrize(
    ("stale", "words"),
    [({"TOKEN": "of another run"}, "the token is another run's"), ({"RUN": "another"}, "run 'another' is over")],
)
def test_a_stale_app_is_refused_and_distinguished_from_a_silent_one(
    app: Session, stale: dict[str, object], words: str
) -> None:
    app.app_does(sort=1_000_000, how={"parameters": stale})
    (app.path / "test_app.py").write_text("def test_app(devperf):\n    devperf.app('com.example.bench')\n")

    result = app.run("--devperf-save=base")

    assert result.ret == 1
    assert "com.example.bench died on Google Pixel 8" in flat(result)
    assert words in flat(result)


def test_a_case_that_must_come_and_does_not_fails_the_test_and_no_other(app: Session) -> None:
    (app.path / "test_app.py").write_text(
        "def test_app(devperf):\n    devperf.app('com.example.bench', cases=['x', 'sort'])\n"
    )

    result = app.run("--devperf-json=run.json")

    assert result.ret == 1
    assert "the app ended without reporting x" in flat(result)
    assert app.cases()[SORT]["outcome"] == "passed"


def test_an_app_is_built_and_given_its_environment(app: Session) -> None:
    (app.path / "test_app.py").write_text(
        "import sys\n"
        "def test_app(devperf):\n"
        '    build = [sys.executable, \'-c\', \'import os; open("built", "w").write(os.environ["ANDROID_SERIAL"])\']\n'
        "    devperf.app('com.example.bench', build=build, environment={'SUITE': \"it's $HOME\"})\n"
    )

    result = app.run()

    assert result.ret == 0
    assert (app.path / "built").read_text().startswith("127.0.0.1:")
    assert app.launches[0]["environment"] == "it's $HOME"


def test_a_failing_build_and_a_missing_app_fail_the_test_with_the_next_step(app: Session) -> None:
    (app.path / "test_app.py").write_text(
        "import sys\n"
        "def test_build(devperf):\n"
        "    build = [sys.executable, '-c', 'print(\"no such class\"); raise SystemExit(2)']\n"
        "    devperf.app('com.example.bench', build=build)\n"
        "def test_missing(devperf):\n"
        "    devperf.app('com.example.other')\n"
    )

    result = app.run()

    result.assert_outcomes(failed=2)
    assert "the build of com.example.bench ended with exit code 2: no such class" in flat(result)
    assert "com.example.other is not installed on Google Pixel 8: install it, or name the command with build=" in flat(
        result
    )


def test_an_app_started_by_a_command_receives_the_collectors_address(app: Session) -> None:
    (app.path / "test_app.py").write_text(
        "import os, sys\n"
        "def test_app(devperf):\n"
        "    slow = {'DEVPERF_SIM_SLOWDOWN': os.path.abspath('slow')}\n"
        "    devperf.app('com.example.bench', launch=[sys.executable, 'app.py'], environment=slow)\n"
    )
    (app.path / "slow").write_text("1")

    result = app.run("--devperf-json=run.json")

    assert result.ret == 0
    assert set(app.cases()) == {SORT, DECODE}


def test_without_measuring_an_app_is_skipped_saying_why(app: Session) -> None:
    result = app.pytester.runpytest_inprocess("-p", "no:randomly", "-rs")

    result.assert_outcomes(skipped=1)
    assert "app com.example.bench hosts its own cases" in flat(result)


def test_this_machine_hosts_no_apps(app: Session) -> None:
    result = app.run("-rs", target="host")

    assert result.ret == 1
    assert "app com.example.bench runs on a phone, not on" in flat(result)
    assert json.loads((app.path / "app.json").read_text())["cases"]


def test_an_app_that_is_started_by_hand_is_waited_for_and_started_once(app: Session) -> None:
    (app.path / "test_app.py").write_text(
        "def test_app(devperf):\n    devperf.app('com.example.bench', no_launch=True)\n"
    )
    (app.path / "slow").write_text("1")
    arguments = app.arguments("--devperf-rounds=6", "--devperf-processes=3", "--devperf-json=run.json")
    words = [sys.executable, "-m", "pytest", *arguments]
    with running(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL) as session:
        assert session.stdout is not None
        line = next(line.decode() for line in session.stdout if b"waiting for com.example.bench" in line)
        parameters = dict(re.findall(r"--es (\S+) (\S+)", line))
        environment = {name: shlex.split(value)[0] for name, value in parameters.items()}
        slow = {"DEVPERF_SIM_SLOWDOWN": str(app.path / "slow")}
        environment = {**os.environ, **environment, **slow}
        by_hand = subprocess.run(
            [sys.executable, "app.py"], cwd=app.path, env=environment, check=True, capture_output=True, text=True
        )
        session.stdout.read()

    assert session.returncode == 0
    assert json.loads(by_hand.stdout.partition("launched ")[2])["rounds"] == 6
    assert set(app.cases()) == {SORT, DECODE}


def test_an_app_whose_name_holds_the_word_error_is_launched(app: Session) -> None:
    for name in ("conftest.py", "test_app.py"):
        path = app.path / name
        path.write_text(path.read_text().replace("com.example.bench", "com.example.ErrorBench"))

    result = app.run("--devperf-json=run.json")

    assert result.ret == 0
    assert len(app.cases()) == 2
