"""The script that starts a program on the phone, and the report it prints once the program has ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from shlex import quote

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.metric import is_duration_ns
from pytest_devperf.targets.android.phone.sensors import Extremes
from pytest_devperf.targets.android.runner.setup import RUNNER
from pytest_devperf.targets.program import fill_placeholders, pushed_name, variables_of
from pytest_devperf.untrusted import parse_json

OUT, ERR, SAMPLED = ".devperf-out", ".devperf-err", ".devperf-sampled"
"""Files in the working folder: the program's output stays on the phone until the program has ended."""

SPENT = r"([0-9]{1,9})m[ \t]*([0-9]{1,9}(?:\.[0-9]{0,9})?)s"
"""Minutes and seconds as a shell's `times` prints them."""

TIMES = re.compile(rf"\s*{SPENT}\s+{SPENT}\s*")

NO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names of environment variables that a shell accepts."""

SAMPLE_S = "0.5"
"""Pause of the sampler beside the program: a frequency cap lasts for seconds, each sample starts one process."""

PEAK_S = "0.005"
"""Pause between two samples of the peak, in a separate pass: the kernel keeps it, so only the last rise can be missed.

A phone takes another few ms to start `sleep`; nothing is timed in this pass.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The report of a program that has ended."""

    returncode: int
    cpu_ns: int | None = None
    extremes: Extremes = field(default_factory=Extremes)
    peak_bytes: int | None = None
    pid: int | None = None
    """Process id of the program: it identifies the program's lines in the phone's log."""
    anchors_ns: tuple[int, ...] = ()
    took_ns: int | None = None
    """Wall time of the whole program, if it was requested and the phone's shell has a clock."""


def format_program(command: Command, *, iterations: int, warmup: int, process: int) -> str:
    """Format the command line, with everything quoted.

    Raises:
        CaseError: An argument or variable is not allowed in a command line.
    """
    name = pushed_name(command)
    program = f"$DEVPERF_HERE/{quote(name)}" if name is not None else quote(_sound(command.argv[0]))
    variables = {**variables_of(iterations=iterations, warmup=warmup, process=process), **command.environment}
    for variable in variables:
        if not NO_NAME.fullmatch(variable):
            raise CaseError(f"{variable!r} is not a name of an environment variable", "use letters, digits and _")
    settings = " ".join(quote(_sound(f"{key}={value}")) for key, value in variables.items())
    arguments = " ".join(
        quote(_sound(fill_placeholders(each, iterations=iterations, warmup=warmup))) for each in command.argv[1:]
    )
    return (
        f'env LD_LIBRARY_PATH="$DEVPERF_HERE${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" {settings} {program} {arguments}'
    )


STAMP = "${EPOCHREALTIME:-$(date +%s%N)}"
"""The time in a shell: Android's mksh and bash know it themselves in µs, others call a program, in ns."""


def format_start(
    program: str, *, folder: str, cwd: str | None, policies: Sequence[str], anchors: int, peak: bool, timed: bool
) -> str:
    """Format the script of one start: sampler, program, and the report about it, in one round trip.

    Args:
        program: Its command line, quoted.
        folder: Working folder of the process start.
        cwd: Working directory of the program on the phone; None: `folder`. A relative path is relative to `folder`.
        policies: Frequency policies whose caps are sampled meanwhile.
        anchors: How often to time the anchor afterwards.
        peak: Whether to sample its peak memory.
        timed: Whether to time the whole program.
    """
    here = f"cd -- {quote(_sound(cwd))} && " if cwd else ""
    lines = [
        f"cd {folder} || exit 1",
        "echo $$",
        "DEVPERF_HERE=$PWD",
        f"rm -f {OUT} {ERR} {SAMPLED}",
        _sampler(policies),
        f"began={STAMP}" if timed else "",
        f"( {here}exec {program} ) >{OUT} 2>{ERR} </dev/null &",
        "child=$!",
        "trap 'kill -9 $child $sampler 2>/dev/null; exit 129' HUP TERM",
        _peak_watch() if peak else "",
        f"wait $child; code=$?; ended={STAMP}" if timed else "wait $child; code=$?",
        'echo; echo "@@times"; times',
        "kill $sampler 2>/dev/null",
        f'echo "@@sampled"; cat {SAMPLED} 2>/dev/null',
        'echo "@@peak $peak"',
        'echo "@@pid $child"',
        'echo "@@took $began $ended"' if timed else "",
        f'echo "@@anchors"; ./{RUNNER} anchor {anchors}' if anchors else "",
        'echo; echo "@@rc $code"',
    ]
    return "\n".join(line for line in lines if line)


def _sampler(policies: Sequence[str]) -> str:
    """Keep the lowest caps and the least free memory in a file; only `sleep` is a process."""
    caps = "\n".join(
        f"if {{ read -r v < /sys/devices/system/cpu/cpufreq/{policy}/scaling_max_freq; }} 2>/dev/null; then\n"
        f'  [ -z "${policy}" ] && {policy}=$v; [ "$v" -lt "${policy}" ] && {policy}=$v; fi'
        for policy in policies
    )
    free = (
        'while read -r k v u; do if [ "$k" = MemAvailable: ]; then\n'
        '  [ -z "$free" ] && free=$v; [ "$v" -lt "$free" ] && free=$v; break; fi; done </proc/meminfo'
    )
    samples = " ".join(f"{name} ${name}" for name in (*policies, "free"))
    loop = f"while kill -0 $$; do\n{caps}\n{free}\necho {samples} >{SAMPLED}; sleep {SAMPLE_S}; done"
    return f"( {loop} ) </dev/null >/dev/null 2>&1 &\nsampler=$!"


def _peak_watch() -> str:
    return (
        f"while kill -0 $child 2>/dev/null; do\n"
        f'  while read -r key value unit; do [ "$key" = VmHWM: ] && peak=$value; done </proc/$child/status\n'
        f"  sleep {PEAK_S}\ndone 2>/dev/null"
    )


def parse_end(text: str) -> Ended | None:
    """Parse the report about a program; None if it was cut off."""
    text = text.replace("\r", "")
    found = re.search(r"^@@rc ([0-9]{1,3})\Z", text.rstrip(), re.MULTILINE)
    if found is None:
        return None
    peak = re.search(r"^@@peak ([0-9]{1,15})$", text, re.MULTILINE)
    pid = re.search(r"^@@pid ([0-9]{1,10})$", text, re.MULTILINE)
    sampled = re.search(r"^@@sampled\n((?:(?:policy[0-9]{1,4}|free) [0-9]{0,12} ?)+)$", text, re.MULTILINE)
    took = re.search(r"^@@took (\S{1,40}) (\S{1,40})$", text, re.MULTILINE)
    return Ended(
        returncode=int(found[1]),
        cpu_ns=parse_times(text),
        extremes=_parse_extremes(sampled[1]) if sampled else Extremes(),
        peak_bytes=int(peak[1]) * 1024 if peak else None,
        pid=int(pid[1]) if pid else None,
        anchors_ns=parse_anchors(text.rpartition("@@anchors")[2]) if "@@anchors" in text else (),
        took_ns=parse_took_ns(took[1], took[2]) if took else None,
    )


def _parse_extremes(line: str) -> Extremes:
    least = {name: int(value) for name, value in re.findall(r"(policy[0-9]+|free) ([0-9]+)", line)}
    free_kib = least.pop("free", None)
    return Extremes(caps_khz=least, free_bytes=None if free_kib is None else free_kib * 1024)


def parse_took_ns(began: str, ended: str) -> int | None:
    """Calculate the time between two stamps of the phone's shell: seconds with a fraction, or ns.

    >>> parse_took_ns("1700000000.250000", "1700000001.000000"), parse_took_ns("1700000000250000000", "1700000000N")
    (750000000, None)
    """
    stamps_ns = []
    for stamp in (began, ended):
        found = re.fullmatch(r"([0-9]{9,11})[.,]?([0-9]{6}|[0-9]{9})", stamp)
        if found is None:
            return None
        stamps_ns.append(int(found[1]) * 10**9 + int(found[2].ljust(9, "0")))
    return stamps_ns[1] - stamps_ns[0]


def parse_times(text: str) -> int | None:
    r"""Parse the CPU time of ended children from the shell's `times`: its second line, in hundredths of a second.

    >>> parse_times("@@times\n0m0.00s 0m0.01s\n0m1.50s 0m0.25s\n")
    1750000000
    """
    lines = text.rpartition("@@times")[2].split("\n")[1:3]
    spent = TIMES.fullmatch(lines[1]) if len(lines) == 2 else None  # noqa: PLR2004 - own and children's
    if spent is None:
        return None
    user_s, system_s = (60 * float(spent[at]) + float(spent[at + 1]) for at in (1, 3))
    # Less than the step of a hundredth of a second counts as not known, rather than as nothing.
    return round((user_s + system_s) * 1e9) or None


def parse_anchors(text: str) -> tuple[int, ...]:
    """Parse the runner's answer; empty if it is invalid."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                times_ns = parse_json(line)["anchor_ns"]
            except (ValueError, KeyError, TypeError):
                continue
            if isinstance(times_ns, list) and all(map(is_duration_ns, times_ns)):
                return tuple(map(int, times_ns))
    return ()


def _sound(text: str) -> str:
    if "\0" in text:
        raise CaseError(f"{text!r} contains a zero byte, which no command line can contain", "remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CaseError(f"{text!r} is not valid text", "pass it in UTF-8") from None
    return text
