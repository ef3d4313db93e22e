"""A program on this machine that measures itself, or is timed as a whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.targets.host.memory.program_peak import PeakOfProgram, peak_of_program
from pytest_devperf.targets.host.meter import Meter, read_children_cpu_ns, time_anchor
from pytest_devperf.targets.host.program.files import ProgramFiles, lay_out
from pytest_devperf.targets.process import CompletedProgram, Invocation, run_program
from pytest_devperf.targets.program import OUTPUT, fill_placeholders, values_of, variables_of
from pytest_devperf.targets.protocol import Clock, Memory, RoundContext, Runner
from pytest_devperf.tool.operators import OperatorReader
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.parse import parse_output, reader_of, reads_operators

if TYPE_CHECKING:
    from pytest_devperf.explain.profile import Profile


class CommandRunner:
    """A program that is started once per round."""

    loops = False
    load_ns: int | None = None
    """Load time that the program printed in its latest run."""

    def __init__(self, command: Command, process: int, files: ProgramFiles, *, clock: Clock) -> None:
        self._command = command
        self._process = process
        self._files = files
        self._clock = clock
        self._meter = Meter(clock.now_ns)
        self._warmup = 0
        self._round_context = RoundContext()
        self._printed = ""
        self._output = Path(files.scratch) / "output"
        if not command.is_timed:
            reader_of(command.read)  # an unknown name is reported before anything runs

    def warm_up(self, iterations: int) -> None:
        """Set the number of unrecorded iterations that each run makes first.

        A program that is timed as a whole keeps nothing between two starts: one unrecorded start loads its files
        into memory.
        """
        if self._command.is_timed and iterations:
            self._start(1)
        self._warmup = iterations

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:  # noqa: ARG002 - the program repeats as it likes
        """Start the program once, and read the ns of each iteration from its output, or time it as a whole.

        Raises:
            CaseError: It failed, took too long, or printed something that cannot be read.
        """
        with self._meter.reading():
            cpu_before = read_children_cpu_ns()
            completed = self._start(iterations)
            cpu_after = read_children_cpu_ns()
        output = self._read(completed)
        self._printed = completed.out
        self.load_ns = None if output.load_ns is None else round(output.load_ns)
        self._round_context = replace(
            self._meter.round_context,
            cpu_ns=None if cpu_before is None or cpu_after is None else cpu_after - cpu_before,
            waited_ns=None,  # the metered thread only waited for the program
            also=output.series_ns,
            values=values_of(output),
            left=completed.left,
        )
        return _samples_of(output)

    def anchor(self) -> int | None:
        """Time the anchor kernel once, in ns, in this process: it is the same machine."""
        return time_anchor(self._clock.now_ns)

    def memory(self, iterations: int) -> Memory | None:
        """Start the program once and measure its peak; the baseline is zero, as it did not exist before."""
        with peak_of_program() as peak:
            output = self._read(self._start(iterations, peak))
        peak_bytes = output.peak_bytes if peak.bytes is None else peak.bytes
        return None if peak_bytes is None else Memory(baseline=0, loaded=None, peak=peak_bytes)

    def print_table(self, options: Sequence[str], iterations: int) -> tuple[Sequence[float], str]:
        """Start the program once with further arguments; return ns of each iteration, and its whole output.

        Raises:
            CaseError: It failed, took too long, or printed something that cannot be read.
        """
        completed = self._start(iterations, change=lambda given: replace(given, argv=(*given.argv, *options)))
        return _samples_of(self._read(completed)), "\n".join(
            (completed.out, completed.err, self._written(completed) or "")
        )

    def start_changed(self, change: Callable[[Invocation], Invocation]) -> None:
        """Start the program once, in a changed way, and read nothing of it.

        Raises:
            CaseError: It failed or took too long.
        """
        self._start(1, change=change)

    def round_context(self) -> RoundContext:
        """Return the context of the latest run: CPU time of the program and its children, further series."""
        return self._round_context

    def result(self) -> str:
        """Return the output of the latest run."""
        return self._printed

    def _read(self, completed: CompletedProgram) -> Output:
        """Read the results from their file, from standard output, or else from standard error."""
        command = self._command
        if command.is_timed:
            return Output(samples_ns=(completed.took_ns,))
        written = self._written(completed)
        try:
            return parse_output(completed.out if written is None else written, command.read, command.units)
        except CaseError as error:
            if written is not None or not completed.err.strip():
                raise CaseError(f"{self._files.name}: {error.what}", error.next_step) from error
            failed = error
        try:
            return parse_output(completed.err, command.read, command.units)
        except CaseError as error:
            shown = failed if completed.out.strip() else error
            raise CaseError(f"{self._files.name}: {shown.what}", shown.next_step) from error

    def _written(self, completed: CompletedProgram) -> str | None:
        """Read the file for results; None if the program has none."""
        if not any(OUTPUT in argument for argument in self._command.argv[1:]):
            return None
        if not self._output.is_file():
            raise CaseError(f"{self._files.name} wrote no file at {OUTPUT}", completed.last)
        return self._output.read_text(encoding="utf-8", errors="replace")

    def _start(
        self,
        iterations: int,
        peak: PeakOfProgram | None = None,
        change: Callable[[Invocation], Invocation] = lambda invocation: invocation,
    ) -> CompletedProgram:
        command = self._command
        # A program that is timed as a whole does its work once.
        iterations, warmup = (1, 0) if command.is_timed else (iterations, self._warmup)
        self._output.unlink(missing_ok=True)
        arguments = [
            fill_placeholders(each, iterations=iterations, warmup=warmup, output=str(self._output))
            for each in command.argv[1:]
        ]
        variables = variables_of(iterations=iterations, warmup=warmup, process=self._process)
        environment = {**command.environment, **variables}
        invocation = Invocation(argv=(self._files.program, *arguments), environment=environment)
        return run_program(
            change(invocation) if peak is None else peak.around(invocation),
            name=self._files.name,
            cwd=self._files.cwd,
            timeout_s=command.timeout_s,
            now_ns=self._clock.now_ns,
            watch=None if peak is None else peak.watch,
        )


class ExplainedCommandRunner(CommandRunner):
    """A program whose reader also reads the table of its operators."""

    def profile(self, metric: str, iterations: int) -> Profile:
        """Read the times of the operators from starts of their own.

        Raises:
            CaseError: The program or the reader failed.
        """
        from pytest_devperf.targets.tabled import profile_table

        reader = reader_of(self._command.read)
        assert isinstance(reader, OperatorReader), "other programs have other runners"
        return profile_table(reader, self.print_table, metric=metric, iterations=iterations, runtime="")


def _samples_of(output: Output) -> Sequence[float]:
    """Return the samples of a run: the first ones represent it if there are several benchmarks and no main one."""
    return output.samples_ns or next(iter(output.series_ns.values()), ())


@contextmanager
def start_command(command: Command, process: int, *, clock: Clock) -> Iterator[Runner]:
    """Copy a program's files, yield its runner, and remove the files.

    Raises:
        CaseError: A file or the program is missing, or there is no such reader.
    """
    with tempfile.TemporaryDirectory(prefix="devperf-command-") as private:
        folder, scratch = Path(private, "files"), Path(private, "results")
        folder.mkdir()
        scratch.mkdir()
        kind = ExplainedCommandRunner if reads_operators(command.read) else CommandRunner
        yield kind(command, process, lay_out(command, folder, scratch), clock=clock)
