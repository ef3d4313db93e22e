"""A program on the phone that measures itself: pushed, started once per round, its output fetched."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.targets.android.adb.loss import best_effort, lost
from pytest_devperf.targets.android.adb.stream import Timeout
from pytest_devperf.targets.android.phone.work_folder import WorkFolder, work_folder
from pytest_devperf.targets.android.runner.model import ANCHORS, ANCHORS_AFTER
from pytest_devperf.targets.android.runner.setup import RUNNER
from pytest_devperf.targets.android.tools.conditions import Conditions
from pytest_devperf.targets.android.tools.script import (
    ERR,
    OUT,
    Ended,
    format_program,
    format_start,
    parse_anchors,
    parse_end,
)
from pytest_devperf.targets.program import name_unpushed, pushed_files, values_of
from pytest_devperf.targets.protocol import Memory, RoundContext
from pytest_devperf.tool.operators import OperatorReader
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.parse import parse_output, reader_of, reads_operators
from pytest_devperf.untrusted import LAST_LINES, last_lines

if TYPE_CHECKING:
    from pytest_devperf.explain.profile import Profile

LOGGING = frozenset({"executor_runner", "benchmark_model"})
"""Readers of tools that in some builds only write to the phone's log (ExecuTorch's platform for Android does)."""

LOG_PAUSES_S = (0.0, 0.2, 0.5)
"""Waits before each read of the log: the phone's log daemon may lag behind a program that has ended."""


class CommandRunner:
    """A program that is started once per round on the phone."""

    loops = False

    def __init__(self, command: Command, process: int, folder: WorkFolder, conditions: Conditions) -> None:
        self.load_ns: int | None = None
        """Load time that the program printed in its latest run."""
        self._command = command
        self._process = process
        self._folder = folder
        self._link = conditions.link
        self._conditions = conditions
        self._name = command.argv[0].rpartition("/")[2] or command.argv[0]
        self._anchors: list[int] = []
        self._wanted = False
        self._warmup = 0
        self._printed = ""
        self._round_context = RoundContext()

    def warm_up(self, iterations: int) -> None:
        """Set the number of unrecorded iterations that each run makes first.

        A program that is timed as a whole keeps nothing between two starts: one unrecorded start loads its files into
        memory.
        """
        if self._command.is_timed and iterations:
            self._start(1, anchors=0, peak=False)
        self._warmup = iterations

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:  # noqa: ARG002 - the program repeats as it likes
        """Start the program once, and read the ns of each iteration from its output, or time it as a whole.

        Raises:
            CaseError: It failed, took too long, or printed something that cannot be read.
            TargetError: The phone is gone.
        """
        began_s = time.monotonic()
        ended = self._start(iterations, anchors=ANCHORS_AFTER if self._wanted else 0, peak=False)
        wall_ns = round((time.monotonic() - began_s) * 1e9)
        output = self._read(ended)
        self._anchors = list(ended.anchors_ns)
        self._wanted = False
        self.load_ns = None if output.load_ns is None else round(output.load_ns)
        self._round_context = replace(
            self._conditions.surround(ended.extremes),
            cpu_ns=ended.cpu_ns,
            wall_ns=wall_ns,
            also=output.series_ns,
            values=values_of(output),
        )
        return output.samples_ns

    def print_table(self, options: Sequence[str], iterations: int) -> tuple[Sequence[float], str]:
        """Start the program once with further arguments; return ns of each iteration, and its whole output.

        Raises:
            CaseError: It failed, took too long, or printed something that cannot be read.
            TargetError: The phone is gone.
        """
        ended = self._start(iterations, anchors=0, peak=False, options=options)
        output = self._read(ended)
        return output.samples_ns or next(iter(output.series_ns.values()), ()), "\n".join(self._texts(ended))

    def anchor(self) -> int | None:
        """Time the anchor kernel on the phone, in ns; None if no runner is set up."""
        if self._conditions.runner is None:
            return None
        self._wanted = True
        if not self._anchors:
            done = self._link.script(
                f"cd {self._folder.path} && ./{RUNNER} anchor {ANCHORS}", doing="timing the anchor"
            )
            self._anchors = list(parse_anchors(done.output))
        return self._anchors.pop(0) if self._anchors else None

    def memory(self, iterations: int) -> Memory | None:
        """Start the program once and measure its peak; the baseline is zero, as it did not exist before."""
        ended = self._start(iterations, anchors=0, peak=True)
        output = self._read(ended)
        peak = output.peak_bytes if ended.peak_bytes is None else ended.peak_bytes
        return None if peak is None else Memory(baseline=0, loaded=None, peak=peak)

    def round_context(self) -> RoundContext:
        """Return the context of the latest run."""
        return self._round_context

    def result(self) -> str:
        """Return the output of the latest run."""
        return self._printed

    # -- below -----------------------------------------------------------------------------------

    def _start(self, iterations: int, *, anchors: int, peak: bool, options: Sequence[str] = ()) -> Ended:
        # A program that is timed as a whole does its work once.
        iterations, warmup = (1, 0) if self._command.is_timed else (iterations, self._warmup)
        command = replace(self._command, argv=(*self._command.argv, *options))
        program = format_program(command, iterations=iterations, warmup=warmup, process=self._process)
        script = format_start(
            f"{self._conditions.prefix} {program}".lstrip(),
            folder=self._folder.path,
            cwd=self._command.cwd,
            policies=self._conditions.policies,
            anchors=anchors,
            peak=peak,
            timed=self._command.is_timed,
        )
        stream = self._link.stream(script, doing=f"starting {self._name}")
        pid = ""
        try:
            pid = stream.read_line(time.monotonic() + 20.0).strip()
            text = stream.read_all(time.monotonic() + self._command.timeout_s)
        except Timeout:
            self._kill(pid)
            raise CaseError(
                f"{self._name} was ended after {self._command.timeout_s:g} s on {self._link.name}; {self._last()}"
            ) from None
        except (EOFError, OSError) as error:
            raise lost(self._link.name, f"running {self._name}", error) from error
        except BaseException:
            self._kill(pid)
            raise
        finally:
            stream.close()
        ended = parse_end(text)
        if ended is None:
            raise lost(self._link.name, f"running {self._name}", "its answer was cut off")
        if ended.returncode != 0:
            raise CaseError(
                f"{self._name} ended with {_format_code(ended.returncode)} on {self._link.name}; "
                f"{self._last(ended.pid)}",
                name_unpushed(self._command),
            )
        return ended

    def _kill(self, pid: str) -> None:
        if pid.isdecimal():
            with best_effort():
                self._link.script(f"kill -9 -{pid} 2>/dev/null; kill -9 {pid} 2>/dev/null", doing="ending a program")

    def _read(self, ended: Ended) -> Output:
        """Read the results from standard output, standard error, or the phone's log, wherever they are."""
        self._printed = self._folder.read(OUT).decode("utf-8", "replace")
        if self._command.is_timed:
            return self._whole(ended)
        failed: CaseError | None = None
        for text in self._texts(ended):
            try:
                output = parse_output(text, self._command.read, self._command.units)
            except CaseError as error:
                failed = error if failed is None or not self._printed.strip() else failed
                continue
            self._printed = text if self._command.read in LOGGING else self._printed
            return output
        raise CaseError(f"the output of {self._name} cannot be read: {failed}; {self._last(ended.pid)}") from failed

    def _whole(self, ended: Ended) -> Output:
        if ended.took_ns is None:
            raise CaseError(
                f"the shell of {self._link.name} has no clock to time {self._name}",
                "let the program print its own times, and name their reader with read=",
            )
        return Output(samples_ns=(ended.took_ns,))

    def _texts(self, ended: Ended) -> Iterator[str]:
        yield self._printed
        errors = self._folder.read(ERR).decode("utf-8", "replace")
        if errors.strip():
            yield errors
        for pause_s in LOG_PAUSES_S if self._command.read in LOGGING else ():
            time.sleep(pause_s)
            yield self._log(ended.pid)

    def _log(self, pid: int | None) -> str:
        """Read the program's lines in the phone's log; empty for a program that does not use it."""
        if pid is None or self._command.read not in LOGGING:
            return ""
        done = self._link.script(f"logcat -d -v raw --pid={pid} 2>/dev/null", doing="reading its log")
        return "\n".join(line for line in done.output.splitlines() if not line.startswith("---------"))

    def _last(self, pid: int | None = None) -> str:
        with best_effort():
            folder = self._folder.path
            done = self._link.script(
                f"cd {folder} && tail -n {LAST_LINES} {OUT}; tail -n {LAST_LINES} {ERR}", doing="reading its last lines"
            )
            text = done.output if done.output.strip() else self._log(pid)
            lines = last_lines(text)
            return "it ended with\n" + ("\n".join(lines) or "(nothing)")
        return "its last lines could not be read"


class ExplainedCommandRunner(CommandRunner):
    """A program whose reader also reads the table of its operators."""

    runtime = ""
    """What executes the operators, with its version; empty if the program itself is measured."""

    def profile(self, metric: str, iterations: int) -> Profile:
        """Read the times of the operators from starts of their own.

        Raises:
            CaseError: The program or the reader failed.
            TargetError: The phone is gone.
        """
        from pytest_devperf.targets.tabled import profile_table

        reader = reader_of(self._command.read)
        assert isinstance(reader, OperatorReader), "other programs have other runners"
        return profile_table(reader, self.print_table, metric=metric, iterations=iterations, runtime=self.runtime)


@contextmanager
def start_command(command: Command, process: int, conditions: Conditions) -> Iterator[CommandRunner]:
    """Push a program's files, yield its runner, and remove everything.

    Args:
        command: The program.
        process: Index of the process start.
        conditions: How it runs, and how the context of a round is read.

    Raises:
        CaseError: A file is missing, or there is no such reader.
        TargetError: The phone is gone, or is full.
    """
    if not command.is_timed:
        reader_of(command.read)  # an unknown name is reported before anything runs
    if not command.argv:
        raise CaseError("devperf.command needs a program", "pass a list: program, then arguments")
    with work_folder(conditions.link, conditions.with_runner(pushed_files(command))) as folder:
        kind = ExplainedCommandRunner if reads_operators(command.read) else CommandRunner
        yield kind(command, process, folder, conditions)


def _format_code(code: int) -> str:
    return f"signal {code - 128}" if code > 128 else f"exit code {code}"  # noqa: PLR2004 - a shell's code for a signal
