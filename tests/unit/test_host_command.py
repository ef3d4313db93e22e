"""Programs on the host: real ones, started for real."""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest
from waiting import has_ended, until

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.target import HostTarget
from pytest_devperf.targets.process import held_interrupts
from pytest_devperf.targets.protocol import Looping, SelfWarming

TARGET = HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))


def python(source: str, *arguments: str, **fields: object) -> Command:
    return Command(argv=(sys.executable, "-c", textwrap.dedent(source), *arguments), **fields)


def test_one_run_is_one_start_that_receives_its_amount_of_work():
    command = python(
        """
        import json, os, sys
        variables = {name: os.environ["DEVPERF_" + name] for name in ("ITERATIONS", "WARMUP", "PROCESS")}
        print(json.dumps({"variables": variables, "argv": sys.argv[1:]}))
        print(json.dumps({"ns": os.getpid()}))
        """,
        "--n={iterations},{warmup},{other}",
        read="json-lines",
    )

    with TARGET.start(command, 4) as runner:
        assert isinstance(runner, SelfWarming)
        assert isinstance(runner, Looping)
        assert not runner.loops
        runner.warm_up(3)
        first = runner.run(30, 1)
        shown = json.loads(runner.result().splitlines()[0])
        second = runner.run(30, 1)

    assert shown == {"variables": {"ITERATIONS": "30", "WARMUP": "3", "PROCESS": "4"}, "argv": ["--n=30,3,{other}"]}
    assert first != second


def test_everything_a_program_prints_arrives():
    command = python(
        """
        print('{"ns": 10}\\n{"ns": 12.5}\\n{"load_ns": 7000}\\n{"ns": 3, "metric": "decode"}')
        print('{"metric": "boxes", "value": 12, "better": "higher"}\\n{"metric": "size", "value": 5, "unit": "B"}')
        sum(range(300_000))
        """,
        read="json-lines",
        units={"boxes": "1/s", "size": "ignored, as it names its own"},
    )

    with TARGET.start(command, 0) as runner:
        samples = runner.run(2, 1)
        round_context = runner.round_context()
        load_ns = runner.load_ns

    assert list(samples) == [10, 12.5]
    assert load_ns == 7000
    assert round_context.also == {"decode": (3,)}
    assert round_context.values == {
        "boxes": (12, "1/s", "higher"),
        "size": (5, "B", "lower"),
        "load": (7000, "ns", "lower"),
    }
    assert round_context.cpu_ns > 1_000_000


def test_a_function_may_read_the_output():
    command = python("print('took 3 us')", read=lambda text: [int(text.split()[1]) * 1000])

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(1, 1)) == [3000]


def test_results_in_a_file_are_read_from_there_and_never_from_an_earlier_run():
    source = """
        import os, sys
        print("a report for people")
        if not os.environ["DEVPERF_ITERATIONS"] == "2": open(sys.argv[1][6:], "w").write("5\\n6\\n")
        """
    command = python(source, "--out={output}")

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(1, 1)) == [5, 6]
        with pytest.raises(CaseError, match=r"wrote no file at {output}: it ended with: a report"):
            runner.run(2, 1)


def test_results_on_standard_error_are_found_there():
    command = python("import sys; print('a log line'); print(5, file=sys.stderr)")

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(1, 1)) == [5]


def test_several_benchmarks_keep_their_names_and_the_first_stands_for_the_run():
    command = python("""print('{"ns": 1, "metric": "a"}\\n{"ns": 2, "metric": "b"}')""", read="json-lines")

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(1, 1)) == [1]
        assert runner.round_context().also == {"a": (1,), "b": (2,)}


def test_pushed_files_lie_beside_the_program_and_are_its_own(tmp_path):
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\ncat data.txt more/deep.txt\necho spoilt > data.txt\n")
    (tmp_path / "data.txt").write_text("11\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "deep.txt").write_text("22\n")
    command = Command(argv=("./tool",), push=tuple(str(tmp_path / name) for name in ("tool", "data.txt", "more")))

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(2, 1)) == [11, 22]

    assert (tmp_path / "data.txt").read_text() == "11\n"


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "one").write_text("1")

    with TARGET.start(python("print(1)", push=(str(tmp_path / "one"),)), 0) as runner:
        runner.run(1, 1)

    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_no_shell_reads_the_arguments():
    command = python("import sys; print(len(sys.argv[1]))", "$(echo hello); `x` *")

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(1, 1)) == [20]


def test_a_relative_program_is_found_from_the_folder_it_runs_in(tmp_path):
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\necho 7\npwd >&2\n")
    program.chmod(0o755)

    with TARGET.start(Command(argv=("./tool",), cwd=str(tmp_path)), 0) as runner:
        assert list(runner.run(1, 1)) == [7]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (python("import sys; print('bye'); print('oh no', file=sys.stderr); sys.exit(3)"), "exit code 3.*bye.*oh no"),
        (python("import os; os.kill(os.getpid(), 9)"), "signal SIGKILL"),
        (python("print('1\\nnope')"), "no number in line 2: 'nope'.*ended with: 1 | nope"),
        (python(""), "no line"),
        (python("print('{\"ns\": }')", read="json-lines"), "no JSON object in line 1"),
        (python("print('{\"ns\": NaN}')", read="json-lines"), "finite number"),
        (python("print('{}')", read="json-lines"), "no duration and no value"),
        (python("print('x')", read=int), "ValueError.*invalid literal"),
        (python("print('x')", read=lambda text: text), "the reader returned str"),
        (python("import time; time.sleep(60)", timeout_s=0.2), "longer than 0.2 s"),
    ],
)
def test_failures_are_reported_with_the_last_output(command, words):
    with TARGET.start(command, 0) as runner, pytest.raises(CaseError, match=words):
        runner.run(1, 1)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Command(argv=("no-such-program-here",)), "no program no-such-program-here on PATH"),
        (Command(argv=("./no-such-program",)), "no program ./no-such-program in|no program no-such-program in"),
        (python("", read="bogus"), "unknown reader 'bogus'.*json-lines"),
        (python("", push=("/no/such/file",)), "no file /no/such/file"),
        (python("", cwd="/no/such/folder"), "no folder /no/such/folder"),
        (Command(argv=()), "needs a program"),
    ],
)
def test_missing_files_are_reported_before_anything_runs(command, words):
    with pytest.raises(CaseError, match=words), TARGET.start(command, 0):
        pass


def test_a_file_that_is_not_executable_is_reported(tmp_path):
    (tmp_path / "tool").write_text("#!/bin/sh\n")

    with pytest.raises(CaseError, match="chmod"), TARGET.start(Command(argv=(str(tmp_path / "tool"),)), 0):
        pass


def test_two_pushed_files_of_one_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.bin").write_text("")
    command = python("", push=(str(tmp_path / "a" / "m.bin"), str(tmp_path / "b" / "m.bin")))

    with pytest.raises(CaseError, match=r"m\.bin"), TARGET.start(command, 0):
        pass


def test_the_peak_of_the_program_is_seen_not_ours():
    ours = bytearray(256 << 20)
    command = python(
        """
        import time
        large = bytearray(64 << 20)
        for index in range(0, len(large), 4096): large[index] = 1
        time.sleep(0.1); print(1)
        """
    )

    with TARGET.start(command, 0) as runner:
        memory = runner.memory(1)

    assert memory.baseline == 0
    assert 64 << 20 < memory.peak < 128 << 20
    assert ours


def test_the_peak_of_what_a_program_starts_is_seen(tmp_path):
    child = tmp_path / "child.py"
    child.write_text("import time\nlarge = bytearray(b'x') * (64 << 20)\ntime.sleep(0.2)\nprint(1)\n")
    command = Command(argv=("sh", "-c", f"{sys.executable} {child}; true"))

    with TARGET.start(command, 0) as runner:
        assert runner.memory(1).peak > 64 << 20


@pytest.mark.usefixtures("usual_signals")
def test_an_interrupt_that_is_ignored_as_in_the_background_ends_nothing():
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    with held_interrupts() as interrupted:
        signal.raise_signal(signal.SIGINT)

    assert interrupted == []


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("after_s", [0, 0.3])
def test_an_interrupt_ends_the_program_and_all_that_it_started(tmp_path, after_s):
    noted = tmp_path / "pid"
    interrupt = f"sleep {after_s}; kill -INT {os.getpid()}"
    command = Command(argv=("sh", "-c", f"sleep 60 & echo $! > {noted}; {interrupt}; wait"))

    with TARGET.start(command, 0) as runner, pytest.raises(KeyboardInterrupt):
        runner.run(1, 1)

    until(lambda: has_ended(int(noted.read_text())))


def test_a_file_of_a_sub_folder_is_copied_once_and_has_two_names(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "data.txt").write_text("5\n")
    (tmp_path / "tool").write_text('#!/bin/sh\nhere=${0%/*}\ncat "$here/data.txt" "$here/sub/data.txt"\n')
    pushed = tuple(str(tmp_path / name) for name in ("tool", "sub/data.txt"))
    command = Command(argv=("./tool",), push=pushed, folder=str(tmp_path))

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(2, 1)) == [5, 5]
        files = Path(runner._files.program).parent
        assert (files / "data.txt").samefile(files / "sub" / "data.txt")
