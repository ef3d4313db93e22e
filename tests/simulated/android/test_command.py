"""Programs on the phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pytest_devperf.case.plan import Plan
from pytest_devperf.case.workload import WHOLE_TIME, Command
from pytest_devperf.errors import CaseError
from pytest_devperf.measure.loop import run_start
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.simphone import SimPhone
from pytest_devperf.targets.android.target import AndroidTarget
from pytest_devperf.targets.android.tools import script
from pytest_devperf.targets.android.tools.command import CommandRunner
from pytest_devperf.targets.protocol import ContextReporting

HOSTILE = [
    "a b",
    "it's",
    '"q"',
    "$(touch gone)",
    "`touch gone`",
    "; touch gone",
    "ü €",
    "*",
    "-n",
    "\\",
    "a\nb",
    "",
    "~",
    "$HOME",
]


def runs_of(target: AndroidTarget, command: Command, iterations: int = 4) -> tuple[list[float], str]:
    with target.start(command, 2) as runner:
        assert isinstance(runner, CommandRunner)
        runner.warm_up(3)
        samples = list(runner.run(iterations, 1))
        return samples, runner.result()


def test_a_pushed_program_runs_beside_its_files(target: AndroidTarget, tmp_path: Path) -> None:
    program, data = tmp_path / "my tool.sh", tmp_path / "data 'x'.txt"
    program.write_text("#!/bin/sh\nread -r n < \"./data 'x'.txt\"; echo $n\n")
    data.write_text("4711\n")

    samples, _ = runs_of(target, Command(argv=("./my tool.sh",), push=(str(program), str(data))))

    assert samples == [4711]


def test_a_pushed_folder_keeps_its_shape(target: AndroidTarget, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "n").write_text("12\n")

    samples, _ = runs_of(target, Command(argv=("cat", "deep/er/n"), push=(str(tmp_path / "deep"),)))

    assert samples == [12]


def test_many_files_with_long_names_are_pushed_in_pieces(target: AndroidTarget, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"{'ü' * 60} {number}").write_text(str(number % 5))

    samples, _ = runs_of(target, Command(argv=("sh", "-c", "ls many | wc -l"), push=(str(folder),)))

    assert samples == [300]


def test_a_command_line_longer_than_adb_carries_is_refused(target: AndroidTarget) -> None:
    with pytest.raises(CaseError, match="exceeds adb's limit"):
        runs_of(target, Command(argv=("echo", "1" * 70_000)))


def test_arguments_reach_the_program_as_they_are(target: AndroidTarget) -> None:
    echo = "for each; do printf '<%s>' \"$each\"; done; echo; [ ! -e gone ]"

    _, printed = runs_of(target, Command(argv=("sh", "-c", echo, "sh", *HOSTILE), read=lambda text: [float(len(text))]))

    assert printed == "".join(f"<{each}>" for each in HOSTILE) + "\n"


def test_variables_and_folders_are_data_too(target: AndroidTarget) -> None:
    folder = "/data/local/tmp/a $(touch gone) 'dir'"
    target.link.script("mkdir -p \"/data/local/tmp/a \\$(touch gone) 'dir'\"", doing="preparing")

    _, printed = runs_of(
        target,
        Command(
            argv=("sh", "-c", 'echo "$ODD"; pwd; echo 5'),
            environment={"ODD": "$(touch gone) ' \""},
            cwd=folder,
            read=lambda text: [float(text.split()[-1])],
        ),
    )

    odd, where = printed.splitlines()[:2]
    assert odd == "$(touch gone) ' \""
    assert where.endswith(folder)  # below the sandbox's own folder: a file is fetched as it is


def test_the_amount_of_work_is_passed_in_both_ways(target: AndroidTarget) -> None:
    command = Command(
        argv=(
            "sh",
            "-c",
            'echo "$1 $DEVPERF_ITERATIONS $DEVPERF_WARMUP $DEVPERF_PROCESS"',
            "sh",
            "{iterations}-{warmup}-{x}",
        ),
        read=lambda _: [1.0],
    )

    assert runs_of(target, command, iterations=6)[1] == "6-3-{x} 6 3 2\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("sh", "-c", "echo half; echo broken >&2; exit 3"), r"(?s)exit code 3 on Google Pixel 8.*half.*broken"),
        (("sh", "-c", "kill -9 $$"), "signal 9"),
        (("no-such-program",), "exit code 127"),
        (("echo", "no number"), r"cannot be read"),
    ],
)
def test_a_failing_program_shows_its_last_lines(target: AndroidTarget, argv: tuple[str, ...], words: str) -> None:
    with pytest.raises(CaseError, match=words):
        runs_of(target, Command(argv=argv))


def test_a_program_that_does_not_end_is_ended(target: AndroidTarget) -> None:
    lasts_s = "123456.78"
    command = Command(argv=("sleep", lasts_s), timeout_s=1.0)

    with (
        target.start(command, 0) as runner,
        pytest.raises(CaseError, match="was ended after 1 s on Google Pixel 8"),
    ):
        runner.run(1, 1)

    assert not [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", lasts_s]]


def test_long_output_is_fetched_whole(target: AndroidTarget) -> None:
    lines = 200_000

    samples, _ = runs_of(target, Command(argv=("sh", "-c", f"seq 1 {lines}")))

    assert len(samples) == lines


def test_rounds_carry_what_surrounded_them(target: AndroidTarget, phone: SimPhone, setup: object) -> None:
    spin = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo 5; echo 6"
    with target.start(Command(argv=("sh", "-c", spin)), 0) as runner:
        start_plan = StartPlan(process=0, rounds=2, total_rounds=2, processes=1, iterations=2)
        start_result = run_start(runner, start_plan, Plan(), phone.clock)
        assert isinstance(runner, ContextReporting)

    assert [each.samples_ns for each in start_result.rounds] == [(5, 6), (5, 6)]
    assert all(each.anchor_ns and each.cpu_ns and each.throttled is False for each in start_result.rounds)


def test_peak_memory_of_a_program_is_watched(target: AndroidTarget) -> None:
    with target.start(Command(argv=("sh", "-c", "sleep 0.3; echo 1")), 0) as runner:
        memory = runner.memory(1)

    assert memory is not None
    assert memory.peak > 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Command(argv=()), "needs a program"),
        (Command(argv=("x",), push=("/nowhere/x",)), "no file /nowhere/x"),
        (Command(argv=("echo", "1"), environment={"A B": "1"}), "not a name of an environment variable"),
        (Command(argv=("echo", "a\0b")), "zero byte"),
        (Command(argv=("echo",), read="nonsense"), "unknown reader 'nonsense'"),
    ],
)
def test_a_wrong_command_is_refused_in_words(target: AndroidTarget, command: Command, words: str) -> None:
    with pytest.raises(CaseError, match=words):
        runs_of(target, command)


def test_affinity_names_clusters_or_cpus(
    switch_on: Callable[..., SimPhone], reach: Callable[..., AndroidTarget]
) -> None:
    target = reach(switch_on(), affinity="big")

    assert runs_of(target, Command(argv=("echo", "3")))[0] == [3]


def test_a_whole_program_is_timed_on_the_phone_not_across_adb(target: AndroidTarget) -> None:
    command = Command(argv=("sh", "-c", "echo $DEVPERF_ITERATIONS; echo no number"), read=WHOLE_TIME)
    with target.start(command, 0) as runner:
        runner.warm_up(3)
        samples = list(runner.run(30, 1))
        printed = runner.result()
        wall_ns = runner.round_context().wall_ns

    assert len(samples) == 1
    assert 0 < samples[0] < wall_ns
    assert printed == "1\nno number\n"


def test_a_phone_whose_shell_has_no_clock_reports_it(target: AndroidTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "STAMP", "1700000000N")
    command = Command(argv=("true",), read=WHOLE_TIME)

    with pytest.raises(CaseError, match=r"no clock to time true.*name their reader with read="):
        runs_of(target, command)
