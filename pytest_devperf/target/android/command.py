"""A program that measures itself, on the phone: pushed, started once per round, its output fetched."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.target.android.link import Link, best_effort
from pytest_devperf.target.android.model import ANCHORS, ANCHORS_AFTER
from pytest_devperf.target.android.place import Place
from pytest_devperf.target.android.setup import RUNNER
from pytest_devperf.target.android.stream import Timeout, lost
from pytest_devperf.target.target import Memory, Witness
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.readers import parse_output, reader_of

OUT, ERR, CAPS = ".devperf-out", ".devperf-err", ".devperf-caps"
"""Files in the working folder: what the program prints stays on the phone until it has ended."""

LAST_LINES = 10
"""Lines of a failed program's output that its case shows: a message and its traceback's end."""

NO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names of environment variables a shell takes."""

SAMPLE_S = "0.5"
"""Pause of the sampler beside the program: a frequency cap lasts for seconds, each look starts one process."""

PEAK_S = "0.05"
"""Pause between two looks at the peak, in a pass of its own: the kernel keeps it, only the last rise can be missed."""

Surround = Callable[[Mapping[str, int]], Witness]
"""Tells what surrounded a run, from the lowest cap of each policy meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A start of the program that came to its end."""

    returncode: int
    cpu_ns: int | None = None
    caps_khz: Mapping[str, int] = field(default_factory=dict)
    peak_bytes: int | None = None
    anchors_ns: tuple[int, ...] = ()


class CommandRunner:
    """A program that is started once per round on the phone."""

    loops = False

    def __init__(  # noqa: PLR0913 - what it runs and where, each with one meaning
        self,
        command: Command,
        process: int,
        place: Place,
        link: Link,
        *,
        prefix: str,
        policies: Sequence[str],
        anchored: bool,
        surround: Surround,
    ) -> None:
        self.load_ns: int | None = None
        """Cost of bringing its workload up, as the program printed it in its latest run."""
        self._command = command
        self._process = process
        self._place = place
        self._link = link
        self._prefix = prefix
        self._policies = policies
        self._surround = surround
        self._name = command.argv[0].rpartition("/")[2] or command.argv[0]
        self._has_anchor = anchored
        self._anchors: list[int] = []
        self._wanted = False
        self._warmup = 0
        self._printed = ""
        self._witness = Witness()

    def warm_up(self, iterations: int) -> None:
        """Say how many unrecorded iterations each run does first."""
        self._warmup = iterations

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:  # noqa: ARG002 - the program repeats as it likes
        """Start the program once and read the ns of each iteration from what it printed.

        Raises:
            CaseError: It failed, took too long, or printed what cannot be read.
            TargetError: The phone went away.
        """
        began_s = time.monotonic()
        ended = self._start(iterations, anchors=ANCHORS_AFTER if self._wanted else 0, peak=False)
        wall_ns = round((time.monotonic() - began_s) * 1e9)
        output = self._read(ended)
        self._anchors = list(ended.anchors_ns)
        self._wanted = False
        self.load_ns = None if output.load_ns is None else round(output.load_ns)
        seen = self._surround(ended.caps_khz)
        self._witness = Witness(
            cpu_ns=ended.cpu_ns,
            wall_ns=wall_ns,
            throttled=seen.throttled,
            temp_c=seen.temp_c,
            also=output.series_ns,
            values=values_of(output),
        )
        return output.samples_ns

    def anchor(self) -> int | None:
        """Time the fixed kernel on the phone, in ns; None where no runner is set up for it."""
        if not self._has_anchor:
            return None
        self._wanted = True
        if not self._anchors:
            done = self._link.script(
                f"cd {self._place.folder} && ./{RUNNER} anchor {ANCHORS}", doing="timing the anchor"
            )
            self._anchors = list(parse_anchors(done.output))
        return self._anchors.pop(0) if self._anchors else None

    def memory(self, iterations: int) -> Memory | None:
        """Start the program once and watch its peak; the baseline is nothing, as it was not there before."""
        ended = self._start(iterations, anchors=0, peak=True)
        output = self._read(ended)
        peak = output.peak_bytes if ended.peak_bytes is None else ended.peak_bytes
        return None if peak is None else Memory(baseline=0, loaded=None, peak=peak)

    def witness(self) -> Witness:
        """Tell what is known of the latest run."""
        return self._witness

    def result(self) -> str:
        """Hand over what the latest run printed."""
        return self._printed

    # -- below -----------------------------------------------------------------------------------

    def _start(self, iterations: int, *, anchors: int, peak: bool) -> Ended:
        program = format_program(self._command, iterations=iterations, warmup=self._warmup, process=self._process)
        script = format_start(
            program if not self._prefix else f"{self._prefix} {program}",
            folder=self._place.folder,
            cwd=self._command.cwd,
            policies=self._policies,
            anchors=anchors,
            peak=peak,
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
                f"{self._name} ended with {_format_code(ended.returncode)} on {self._link.name}; {self._last()}"
            )
        return ended

    def _kill(self, pid: str) -> None:
        if pid.isdecimal():
            with best_effort():
                self._link.script(f"kill -9 -{pid} 2>/dev/null; kill -9 {pid} 2>/dev/null", doing="ending a program")

    def _read(self, ended: Ended) -> Output:  # noqa: ARG002 - only what ended can be read
        self._printed = self._place.read(OUT).decode("utf-8", "replace")
        try:
            return parse_output(self._printed, self._command.read, self._command.units)
        except CaseError as error:
            first = error
        errors = self._place.read(ERR).decode("utf-8", "replace")
        if errors.strip():
            try:
                return parse_output(errors, self._command.read, self._command.units)
            except CaseError as error:
                first = error if not self._printed.strip() else first
        raise CaseError(f"the output of {self._name} cannot be read: {first}; {self._last()}") from first

    def _last(self) -> str:
        with best_effort():
            folder = self._place.folder
            done = self._link.script(
                f"cd {folder} && tail -n {LAST_LINES} {OUT}; tail -n {LAST_LINES} {ERR}", doing="reading its last lines"
            )
            lines = [line[:300] for line in done.output.splitlines() if line.strip()][-LAST_LINES:]
            return "it ended with\n" + ("\n".join(lines) or "(nothing)")
        return "its last lines could not be read"


def format_program(command: Command, *, iterations: int, warmup: int, process: int) -> str:
    """Write the command line, everything quoted.

    Raises:
        CaseError: An argument or variable cannot stand in a command line.
    """
    pushed = {Path(source).name for source in command.push}
    name = Path(command.argv[0]).name
    program = f"$DEVPERF_HERE/{quote(name)}" if name in pushed else quote(_sound(command.argv[0]))
    told = {
        "DEVPERF_ITERATIONS": str(iterations),
        "DEVPERF_WARMUP": str(warmup),
        "DEVPERF_PROCESS": str(process),
        **command.environment,
    }
    for variable in told:
        if not NO_NAME.fullmatch(variable):
            raise CaseError(f"{variable!r} is no name of an environment variable", "use letters, digits and _")
    settings = " ".join(quote(_sound(f"{key}={value}")) for key, value in told.items())
    arguments = " ".join(
        quote(_sound(each.replace("{iterations}", str(iterations)).replace("{warmup}", str(warmup))))
        for each in command.argv[1:]
    )
    return (
        f'env LD_LIBRARY_PATH="$DEVPERF_HERE${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" {settings} {program} {arguments}'
    )


def format_start(
    program: str, *, folder: str, cwd: str | None, policies: Sequence[str], anchors: int, peak: bool
) -> str:
    """Write the script of one start: sampler, program, and what is known of it afterwards, in one round trip.

    Args:
        program: Its command line, quoted.
        folder: Working folder of the process start.
        cwd: Where the program runs; None: there.
        policies: Frequency policies whose caps are sampled beside it.
        anchors: How often the anchor is timed afterwards.
        peak: Whether its peak memory is watched.
    """
    here = folder if cwd is None else quote(cwd)
    lines = [
        f"cd {folder} || exit 1",
        "echo $$",
        "DEVPERF_HERE=$PWD",
        f"rm -f {OUT} {ERR} {CAPS}",
        _sampler(policies),
        f"( cd {here} && exec {program} ) >{OUT} 2>{ERR} </dev/null &",
        "child=$!",
        "trap 'kill -9 $child $sampler 2>/dev/null; exit 129' HUP TERM",
        _peak_watch() if peak else "",
        "wait $child; code=$?",
        'echo; echo "@@times"; times',
        "kill $sampler 2>/dev/null",
        f'echo "@@caps"; cat {CAPS} 2>/dev/null',
        'echo "@@peak $peak"',
        f'echo "@@anchors"; ./{RUNNER} anchor {anchors}' if anchors else "",
        'echo; echo "@@rc $code"',
    ]
    return "\n".join(line for line in lines if line)


def _sampler(policies: Sequence[str]) -> str:
    """Keep the lowest cap of each policy in a file; the shell reads by itself, only `sleep` is a process."""
    if not policies:
        return "sampler="
    reads = "\n".join(
        f"if {{ read -r v < /sys/devices/system/cpu/cpufreq/{policy}/scaling_max_freq; }} 2>/dev/null; then\n"
        f'  [ -z "${policy}" ] && {policy}=$v; [ "$v" -lt "${policy}" ] && {policy}=$v; fi'
        for policy in policies
    )
    told = " ".join(f"{policy} ${policy}" for policy in policies)
    loop = f"while kill -0 $$; do\n{reads}\necho {told} >{CAPS}; sleep {SAMPLE_S}; done"
    return f"( {loop} ) </dev/null >/dev/null 2>&1 &\nsampler=$!"


def _peak_watch() -> str:
    return (
        f"while kill -0 $child 2>/dev/null; do\n"
        f'  while read -r key value unit; do [ "$key" = VmHWM: ] && peak=$value; done </proc/$child/status\n'
        f"  sleep {PEAK_S}\ndone 2>/dev/null"
    )


def parse_end(text: str) -> Ended | None:
    """Read what the script says after the program ended; None where it was cut off."""
    found = re.search(r"^@@rc (\d+)\s*\Z", text.replace("\r", ""), re.MULTILINE)
    if found is None:
        return None
    peak = re.search(r"^@@peak (\d+)", text, re.MULTILINE)
    caps = re.search(r"^@@caps\r?\n((?:policy\d+ \d* ?)+)", text, re.MULTILINE)
    return Ended(
        returncode=int(found[1]),
        cpu_ns=parse_times(text),
        caps_khz={name: int(khz) for name, khz in re.findall(r"(policy\d+) (\d+)", caps[1])} if caps else {},
        peak_bytes=int(peak[1]) * 1024 if peak else None,
        anchors_ns=parse_anchors(text.rpartition("@@anchors")[2]) if "@@anchors" in text else (),
    )


def parse_times(text: str) -> int | None:
    r"""Read the CPU time of ended children from the shell's `times`: its second line, in hundredths of a second.

    >>> parse_times("@@times\n0m0.00s 0m0.01s\n0m1.50s 0m0.25s\n")
    1750000000
    """
    lines = text.rpartition("@@times")[2].split("\n")[1:3]
    spent = re.findall(r"(\d+)m\s*([\d.]+)s", lines[1]) if len(lines) == 2 else []  # noqa: PLR2004 - own and children's
    if len(spent) != 2:  # noqa: PLR2004 - user and system
        return None
    # Less than the step of a hundredth of a second is not known, rather than nothing.
    return round(sum(int(minutes) * 60 + float(seconds) for minutes, seconds in spent) * 1e9) or None


def parse_anchors(text: str) -> tuple[int, ...]:
    """Read the runner's answer; nothing where it is none."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                return tuple(int(value) for value in json.loads(line)["anchor_ns"])
            except (ValueError, KeyError, TypeError):
                continue
    return ()


def values_of(output: Output) -> dict[str, tuple[float, str, str]]:
    """Collect the values of an output, the load among them."""
    values: dict[str, tuple[float, str, str]] = {
        name: (value.value, value.unit, value.better) for name, value in output.values.items()
    }
    if output.load_ns is not None:
        values["load"] = (output.load_ns, "ns", "lower")
    return values


def files_of(command: Command) -> dict[str, Path]:
    """List what is pushed: name on the phone -> file here; folders with all that is in them.

    Raises:
        CaseError: A file is missing, or two have one name.
    """
    if not command.argv:
        raise CaseError("devperf.command was given no program", "pass a list: program, then arguments")
    files: dict[str, Path] = {}
    for source in map(Path, command.push):
        if source.name in {name.partition("/")[0] for name in files}:
            raise CaseError(f"two pushed files are named {source.name}", "they lie in one folder: rename one")
        if source.is_dir():
            below = (path for path in sorted(source.rglob("*")) if path.is_file())
            files |= {f"{source.name}/{path.relative_to(source).as_posix()}": path for path in below}
        elif source.is_file():
            files[source.name] = source
        else:
            raise CaseError(f"no file {source} to push", "the path is relative to the test file")
    return files


@contextmanager
def start_command(
    command: Command,
    process: int,
    link: Link,
    *,
    runner: Path | None,
    prefix: str,
    policies: Sequence[str],
    surround: Surround,
) -> Iterator[CommandRunner]:
    """Push a program's files, hand out its runner, take everything away.

    Args:
        command: The program.
        process: Index of the process start.
        link: The phone.
        runner: The ONNX runner, which also times the anchor; None: there is no anchor.
        prefix: Shell words before the program (`taskset f0`).
        policies: Frequency policies whose caps are sampled beside it.
        surround: Tells what surrounded a run.

    Raises:
        CaseError: A file is missing, or there is no such reader.
        TargetError: The phone went away, or is full.
    """
    reader_of(command.read)
    files = files_of(command)
    if runner is not None:
        files.setdefault(RUNNER, runner)
    place = Place(link)
    place.open()
    try:
        if files:
            place.put(files)
        yield CommandRunner(
            command,
            process,
            place,
            link,
            prefix=prefix,
            policies=policies,
            anchored=runner is not None,
            surround=surround,
        )
    finally:
        place.close()


def _sound(text: str) -> str:
    if "\0" in text:
        raise CaseError(f"{text!r} holds a zero byte, which no command line can carry", "leave it out")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CaseError(f"{text!r} is no valid text", "give it in UTF-8") from None
    return text


def _format_code(code: int) -> str:
    return f"signal {code - 128}" if code > 128 else f"exit code {code}"  # noqa: PLR2004 - a shell's way of telling a signal
