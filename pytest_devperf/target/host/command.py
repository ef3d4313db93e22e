"""A program of this machine that measures itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.target.host.anchor import time_anchor
from pytest_devperf.target.host.meter import Meter
from pytest_devperf.target.host.tree import TreeMemory
from pytest_devperf.target.target import Clock, Memory, Runner, Witness
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.readers import parse_output, reader_of

LAST_LINES = 10
"""Lines of a failed program's output that its case shows: a message and its traceback's end."""

LINE_WIDTH = 160
"""Characters of such a line."""

GRACE_S = 3.0
"""Time between asking a program to end and ending it: enough to write a file, short for one who waits."""

LOOK_EVERY_S = 0.005
"""Pause between two looks at a program's memory: the kernel keeps the peak, only the last rise can be missed."""


OUTPUT = "{output}"
"""Placeholder for a file that the program writes its results to, where it prints them nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a program runs and which file it is."""

    program: str
    """Absolute path."""
    cwd: str
    name: str
    """What a user calls it."""
    scratch: str
    """Absolute path of a folder for its results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one start of a program printed."""

    out: str
    err: str
    written: str | None = None
    """What it wrote to the file for its results; None where it was given none."""

    @property
    def last(self) -> str:
        """The last lines, its errors after its results."""
        lines = [line.rstrip()[:LINE_WIDTH] for line in (self.out + "\n" + self.err).splitlines() if line.strip()]
        return f"it ended with: {' | '.join(lines[-LAST_LINES:])}" if lines else "it printed nothing"


def filled(argument: str, *, iterations: int, warmup: int, output: str) -> str:
    """Fill in how much to do, and the file that results go to; other braces are the program's own.

    >>> filled("--runs={iterations},{x}", iterations=30, warmup=3, output="/tmp/o")
    '--runs=30,{x}'
    """
    words = {"{iterations}": str(iterations), "{warmup}": str(warmup), OUTPUT: output}
    for placeholder, word in words.items():
        argument = argument.replace(placeholder, word)
    return argument


def lay_out(command: Command, folder: Path, scratch: Path) -> Place:
    """Copy pushed files into a private folder and find the program.

    Copies, not links: a program may write to the files it is given.

    Raises:
        CaseError: A file or the program is missing.
    """
    if not command.argv:
        raise CaseError("devperf.command was given no program", "pass a list: program, then arguments")
    for source in map(Path, command.push):
        if (folder / source.name).exists():
            raise CaseError(f"two pushed files are named {source.name}", "they lie in one folder: rename one")
        if source.is_dir():
            shutil.copytree(source, folder / source.name)
        elif source.is_file():
            shutil.copy2(source, folder / source.name)
        else:
            raise CaseError(f"no file {source} to push", "the path is relative to the test file")
    here = folder if command.push else Path.cwd()
    cwd = here if command.cwd is None else Path(command.cwd)
    if not cwd.is_dir():
        raise CaseError(f"no folder {cwd} to run in", "check cwd=")
    program = _program(command, folder, cwd)
    return Place(program=str(program), cwd=str(cwd), name=Path(command.argv[0]).name, scratch=str(scratch))


def _program(command: Command, folder: Path, cwd: Path) -> Path:
    named = Path(command.argv[0])
    pushed = folder / named.name
    if named.name in {Path(source).name for source in command.push} and pushed.is_file():
        pushed.chmod(pushed.stat().st_mode | 0o755)
        return pushed
    if not any(mark in command.argv[0] for mark in (os.sep, os.altsep) if mark):
        found = shutil.which(command.argv[0], path=command.environment.get("PATH"))
        if found is None:
            raise CaseError(f"no program {named} on PATH", "install it, or push it and name it ./…")
        return Path(found)
    program = cwd / named
    if not program.is_file():
        raise CaseError(f"no program {named} in {cwd}", "push it, or pass its whole path")
    if not os.access(program, os.X_OK):
        raise CaseError(f"{program} may not be executed", f"chmod +x {program}")
    return program.absolute()


class CommandRunner:
    """A program that is started once per round."""

    loops = False
    load_ns: int | None = None
    """Cost of bringing its workload up, as the program printed it in its latest run."""

    def __init__(self, command: Command, process: int, place: Place, *, clock: Clock) -> None:
        self._command = command
        self._process = process
        self._place = place
        self._clock = clock
        self._meter = Meter(clock.now_ns)
        self._warmup = 0
        self._witness = Witness()
        self._printed = ""
        reader_of(command.read)  # an unknown name is told before anything runs

    def warm_up(self, iterations: int) -> None:
        """Say how many unrecorded iterations each run does first."""
        self._warmup = iterations

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:  # noqa: ARG002 - the program repeats as it likes
        """Start the program once and read the ns of each iteration from what it printed.

        Raises:
            CaseError: It failed, took too long, or printed what cannot be read.
        """
        self._meter.begin()
        cpu_before = _children_cpu_ns()
        printed = self._start(iterations, None)
        cpu_after = _children_cpu_ns()
        seen = self._meter.end()
        output = self._read(printed)
        self._printed = printed.out
        self.load_ns = None if output.load_ns is None else round(output.load_ns)
        self._witness = replace(
            seen,
            cpu_ns=None if cpu_before is None or cpu_after is None else cpu_after - cpu_before,
            waited_ns=None,  # the thread that was watched only waited for the program
            also=output.series_ns,
            values=_values(output),
        )
        # Several benchmarks and no main one: the first stands for the run, all keep their names.
        return output.samples_ns or next(iter(output.series_ns.values()), ())

    def anchor(self) -> int | None:
        """Time the fixed kernel once, in ns, in this process: the same machine."""
        return time_anchor(self._clock.now_ns)

    def memory(self, iterations: int) -> Memory | None:
        """Start the program once and watch its peak; the baseline is nothing, as it was not there before."""
        watched: list[TreeMemory] = []

        def watch(pid: int) -> None:
            if not watched:
                watched.append(TreeMemory(pid))
            watched[0].look()

        output = self._read(self._start(iterations, watch))
        peak = watched[0].peak_bytes if watched else None
        peak = output.peak_bytes if peak is None else peak
        return None if peak is None else Memory(baseline=0, loaded=None, peak=peak)

    def witness(self) -> Witness:
        """Tell what is known of the latest run: CPU time of the program and its children, further series."""
        return self._witness

    def result(self) -> str:
        """Hand over what the latest run printed."""
        return self._printed

    def close(self) -> None:
        """Close files."""
        self._meter.close()

    def _read(self, printed: Printed) -> Output:
        """Read the results from standard output, or from standard error where the tool prints them there."""
        command = self._command
        try:
            return parse_output(
                printed.out if printed.written is None else printed.written, command.read, command.units
            )
        except CaseError as error:
            if not printed.err.strip() or printed.written is not None:
                raise CaseError(f"{self._place.name}: {error.what}", error.next_step) from error
            failed = error
        try:
            return parse_output(printed.err, command.read, command.units)
        except CaseError as error:
            told = failed if printed.out.strip() else error
            raise CaseError(f"{self._place.name}: {told.what}", told.next_step) from error

    def _start(self, iterations: int, watch: Callable[[int], None] | None) -> Printed:
        command = self._command
        told = {
            "DEVPERF_ITERATIONS": str(iterations),
            "DEVPERF_WARMUP": str(self._warmup),
            "DEVPERF_PROCESS": str(self._process),
        }
        output = Path(self._place.scratch) / "output"
        output.unlink(missing_ok=True)
        arguments = [
            filled(each, iterations=iterations, warmup=self._warmup, output=str(output)) for each in command.argv[1:]
        ]
        # Files, not pipes: nobody has to read while the program measures itself.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                with held_interrupts() as interrupted:
                    child = subprocess.Popen(
                        [self._place.program, *arguments],
                        cwd=self._place.cwd,
                        env={**os.environ, **command.environment, **told},
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        start_new_session=True,
                    )
            except OSError as error:
                raise CaseError(
                    f"{self._place.name} cannot be started: {error.strerror}", self._place.program
                ) from error
            if interrupted:
                end_group(child)
                raise KeyboardInterrupt
            timed_out = not _wait(child, command.timeout_s, watch)
            printed = Printed(out=_text(out), err=_text(err))
        if timed_out:
            raise CaseError(f"{self._place.name} took longer than {command.timeout_s:g} s", printed.last)
        if child.returncode:
            raise CaseError(f"{self._place.name} ended with {_format_code(child.returncode)}", printed.last)
        if not any(OUTPUT in argument for argument in command.argv[1:]):
            return printed
        if not output.is_file():
            raise CaseError(f"{self._place.name} wrote no file where {OUTPUT} was given", printed.last)
        return replace(printed, written=output.read_text(encoding="utf-8", errors="replace"))


@contextmanager
def held_interrupts() -> Iterator[list[int]]:
    """Note Ctrl-C instead of raising it while a program starts: raised in between, nobody would know its id.

    Yields:
        The signals that came. Only the main thread receives them; elsewhere nothing is held.
    """
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    # None: a handler that is not Python's and could not be put back.
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(child: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[int], None] | None) -> bool:
    """Wait for a program; False where it was ended for taking too long. An interrupt ends it, too."""
    try:
        if watch is not None:
            until = time.monotonic() + timeout_s
            while child.poll() is None and time.monotonic() < until:
                watch(child.pid)
                time.sleep(LOOK_EVERY_S)
            timeout_s = max(0.0, until - time.monotonic())
        child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        end_group(child)
        return False
    except BaseException:
        end_group(child)
        raise
    return True


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End a program and everything it started: ask first, then insist."""
    if not hasattr(os, "killpg"):
        child.kill()
        child.wait()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _values(output: Output) -> dict[str, tuple[float, str, str]]:
    values: dict[str, tuple[float, str, str]] = {
        name: (value.value, value.unit, value.better) for name, value in output.values.items()
    }
    if output.load_ns is not None:
        values["load"] = (output.load_ns, "ns", "lower")
    return values


def _children_cpu_ns() -> int | None:
    """Read the CPU time of all children that have ended; None on a system that does not count it."""
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def _format_code(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


@contextmanager
def start_command(command: Command, process: int, *, clock: Clock) -> Iterator[Runner]:
    """Lay a program's files out, hand out its runner, clear up.

    Raises:
        CaseError: A file or the program is missing, or there is no such reader.
    """
    with tempfile.TemporaryDirectory(prefix="devperf-command-") as private:
        folder, scratch = Path(private, "files"), Path(private, "results")
        folder.mkdir()
        scratch.mkdir()
        runner = CommandRunner(command, process, lay_out(command, folder, scratch), clock=clock)
        try:
            yield runner
        finally:
            runner.close()
