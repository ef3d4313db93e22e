"""A target: a board in a rack, reached over ssh, `--devperf-target=board:HOST`.

Programs run on the board and time themselves there, so the network does not affect the measurement.
"""

from __future__ import annotations

import hashlib
import posixpath
import shlex
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_devperf import (
    CaseError,
    Command,
    Context,
    Device,
    Memory,
    RoundContext,
    Runner,
    TargetError,
    Unsupported,
    Workload,
    parse_output,
)

FACTS = """
uname -m; nproc
awk '/^MemTotal/ { print int(($2 + 1048575) / 1048576) }' /proc/meminfo
cat /proc/device-tree/model /sys/class/dmi/id/product_name 2>/dev/null | head -n 1 | tr -d '\\000'
echo; cat /etc/machine-id
"""
SENSORS = "cat /sys/class/thermal/thermal_zone0/temp || echo; awk '/^MemAvailable/ { print $2 }' /proc/meminfo"

NO_CONNECTION = 255
"""Exit code of ssh without a connection."""


def make_board(spec: str) -> Board | None:
    """Open the board of `board:HOST`; other specs belong to other plugins.

    `board:local` is this computer, to try a plugin without a board.
    """
    kind, _, host = spec.partition(":")
    if kind != "board":
        return None
    return Board(host, ("sh", "-c") if host == "local" else ("ssh", "-o", "BatchMode=yes", host))


class Board:
    """Runs commands; Python calls and models are skipped with the reason."""

    def __init__(self, host: str, connect: Sequence[str]) -> None:
        self._host = host
        self._connect = connect
        arch, cores, memory_gib, model, _, machine = [*self.shell(FACTS).split("\n"), "", "", "", "", "", ""][:6]
        self.device = Device(
            kind="board",
            model=model.strip() or None,
            cores=int(cores) if cores.isdecimal() else None,
            memory_gib=int(memory_gib) if memory_gib.isdecimal() else None,
            abi=arch or None,
            unit=hashlib.sha256(f"devperf-rack {machine}".encode()).hexdigest()[:12] if machine else None,
        )

    def shell(self, script: str, *, data: bytes = b"", timeout_s: float = 60.0) -> str:
        """Run a script on the board and return its output; sensors of plugins use it too (`ShellOffering`).

        Raises:
            TargetError: The board cannot be reached.
            CaseError: The script failed or took too long.
        """
        try:
            done = subprocess.run(
                [*self._connect, script], input=data, capture_output=True, timeout=timeout_s, check=False
            )
        except OSError as error:
            raise TargetError(f"no way to reach board {self._host}: {error}", "install ssh") from error
        except subprocess.TimeoutExpired:
            raise CaseError(f"board {self._host} took more than {timeout_s:g} s: {script}") from None
        errors = done.stderr.decode(errors="replace").strip()
        if done.returncode == NO_CONNECTION:
            raise TargetError(f"board {self._host} cannot be reached: {errors}", f"try ssh {self._host} true")
        if done.returncode:
            raise CaseError(f"exit code {done.returncode} on board {self._host}: {errors or script}")
        return done.stdout.decode(errors="replace")

    def look(self) -> Context:
        """Read temperature and free memory; values that the board does not show stay unknown."""
        millidegrees, free_kb = [*self.shell(SENSORS).split("\n"), ""][:2]
        return Context(
            at_ns=time.perf_counter_ns(),
            temp_c=int(millidegrees) / 1000 if millidegrees.isdecimal() else None,
            free_ram_mb=int(free_kb) / 1024 if free_kb.isdecimal() else None,
        )

    @contextmanager
    def start(self, workload: Workload, process: int) -> Generator[Runner, None, None]:
        """Copy the files of a command to a new folder, yield its runner, remove the folder."""
        if not isinstance(workload, Command):
            raise Unsupported(f"a board runs no {type(workload).__name__.lower()}", "use devperf.command")
        if workload.is_timed:
            raise Unsupported("a board times no programs", "let it print its times, and name their reader with read=")
        folder = self.shell("mktemp -d").strip()
        try:
            for source in map(Path, workload.push):
                path = shlex.quote(f"{folder}/{source.name}")
                self.shell(f"cat > {path} && chmod +x {path}", data=source.read_bytes())
            yield BoardRunner(self, workload, folder, process)
        finally:
            self.shell(f"rm -rf {shlex.quote(folder)}")


class BoardRunner:
    """A program that is started once per round, and prints the time of each iteration."""

    load_ns: int | None = None
    loops = False
    """It takes no inner loops (`Looping`)."""

    def __init__(self, board: Board, command: Command, folder: str, process: int) -> None:
        self._board = board
        self._command = command
        self._folder = folder
        self._process = process
        self._warmup = 0
        self._latest = RoundContext()

    def warm_up(self, iterations: int) -> None:
        """Set the number of unrecorded iterations that the program makes first (`SelfWarming`)."""
        self._warmup = iterations

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Start the program, and read the ns of each iteration from its output."""
        command = self._command
        amounts = {"ITERATIONS": iterations, "WARMUP": self._warmup, "PROCESS": self._process}
        variables = {**command.environment, **{f"DEVPERF_{name}": str(number) for name, number in amounts.items()}}
        program = ["env", *(f"{name}={value}" for name, value in variables.items()), *self._fill(iterations)]
        script = f"cd {shlex.quote(posixpath.join(self._folder, command.cwd or ''))} && exec {shlex.join(program)}"
        printed = self._board.shell(script, timeout_s=command.timeout_s)
        output = parse_output(printed, command.read, command.units)
        values = {name: (each.value, each.unit, each.better) for name, each in output.values.items()}
        self._latest = RoundContext(also=output.series_ns, values=values)
        return output.samples_ns

    def _fill(self, iterations: int) -> Sequence[str]:
        """Fill in the numbers of iterations; a pushed program is started from its folder."""
        first, *arguments = self._command.argv
        pushed = {Path(source).name for source in self._command.push}
        program = f"{self._folder}/{Path(first).name}" if Path(first).name in pushed else first
        amounts = {"{iterations}": str(iterations), "{warmup}": str(self._warmup)}
        for placeholder, amount in amounts.items():
            arguments = [each.replace(placeholder, amount) for each in arguments]
        return [program, *arguments]

    def anchor(self) -> int | None:
        """Return None: the board has no fixed kernel, so it is compared without an anchor."""
        return None

    def memory(self, iterations: int) -> Memory | None:
        """Return None: the board does not measure memory."""
        return None

    def round_context(self) -> RoundContext:
        """Return the other values of the latest output (`ContextReporting`)."""
        return self._latest
