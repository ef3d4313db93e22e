"""Starts fresh interpreters that run the same cases again, and reads back what they found.

The command line is the parent's to the letter: node ids, rootdir and plugins depend on it. What to run
is told in a file; results come back as one JSON line per event, so that a crash loses nothing before it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_devperf.case.digest import type_name
from pytest_devperf.plugin.origin import ENVIRONMENT, HANDOVER_VARIABLE, PROCESS_VARIABLE, SYS_PATH
from pytest_devperf.plugin.start import HANDOVER_VERSION, CaseStart, Handover, Role, Turns, Wanted

if TYPE_CHECKING:
    from pytest_devperf.plugin.ledger import Entry

LAUNCH = """\
import json, os, sys
with open(os.environ["PYTEST_DEVPERF_HANDOVER"], encoding="ascii") as file:
    handover = json.load(file)
if handover["sys_path"] is None:
    sys.path[:] = handover["lead"] + [place for place in sys.path if place]
else:
    sys.path[:] = handover["sys_path"]
import pytest
sys.exit(pytest.main(handover["args"], plugins=handover["plugins"]))
"""
"""Not `-m pytest`: that would put the working directory on `sys.path`, which the `pytest` script does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An interpreter with what is installed for it."""

    program: str = sys.executable
    own_path: bool = False
    """Whether it imports from its own places, not from this process's."""


HERE = Environment()
"""The environment of this process."""

POLL_S = 0.5
"""How often the progress is looked at while a fresh interpreter measures; rarely, not to disturb it."""

GRACE_S = 3.0
"""How long an interpreter may take to end when it is told to."""

LAST_LINES = 40
"""Lines of a dead interpreter's output that are shown."""


@dataclass(slots=True, kw_only=True)
class Found:
    """What a fresh interpreter found out about one case."""

    begun: bool = False
    absent: bool = False
    start: CaseStart | None = None
    reports: list[Mapping[str, Any]] = field(default_factory=list)
    died: str | None = None
    """The interpreter's last words, where it died in this case."""


def run_pass(
    config: pytest.Config,
    entries: Sequence[Entry],
    *,
    process: int,
    role: Role,
    seed: int,
    on_event: Callable[[Mapping[str, Any]], None],
    environment: Environment = HERE,
) -> dict[int, Found]:
    """Run cases in fresh interpreters until each has an outcome; one interpreter unless it dies.

    Args:
        config: pytest's configuration in this process.
        entries: The cases; at least one.
        process: Zero-based index of this process start.
        role: What the start is for.
        seed: Seed of the order of cases.
        on_event: Hears of every event, as it is read.
        environment: Whose interpreter it is.

    Returns:
        What was found, by the index of the entry.
    """
    found = {entry.index: Found() for entry in entries}
    waiting = list(entries)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True) as name:
            job = Job(config=config, folder=Path(name), environment=environment)
            job.hand_over(waiting, process=process, role=role, seed=seed)
            _wait(job.spawn(process), job.events, found, on_event)
            output = job.output
        left = [entry for entry in waiting if not settled(found[entry.index])]
        died = [entry for entry in left if found[entry.index].begun]
        for entry in died:
            found[entry.index].died = output
        rest = [entry for entry in left if entry not in died]
        if rest and len(rest) == len(waiting):
            for entry in rest:
                found[entry.index].died = output
            break
        waiting = rest
    return found


def named_plugins(config: pytest.Config) -> list[str]:
    """List the plugins that `pytest.main` was given and that have a name to import."""
    names = [each if isinstance(each, str) else each.__name__ for each in _plugins(config, (str, ModuleType))]
    return [name for name in names if name != "__main__"]


def note_on_plugins(config: pytest.Config) -> str:
    """Say which plugins a fresh interpreter lacks; empty if it lacks none.

    An object cannot be handed to another interpreter. pytest's own (pytester gives one) take no part in tests.
    """
    kinds = [type_name(each) for each in _plugins(config, object) if not isinstance(each, (str, ModuleType))]
    if not kinds:
        return ""
    return (
        f"pytest.main was given a plugin as an object ({', '.join(kinds)}), which later process starts do not have: "
        "use --devperf-processes=1 to measure in this process"
    )


def _plugins(config: pytest.Config, kinds: type | tuple[type, ...]) -> list[Any]:
    given = config.invocation_params.plugins or ()
    return [each for each in given if isinstance(each, kinds) and not type(each).__module__.startswith("_pytest.")]


def settled(found: Found) -> bool:
    """Tell whether a case needs no other interpreter."""
    return found.absent or found.start is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One fresh interpreter's work: what it is told, and where it writes."""

    config: pytest.Config
    folder: Path
    """A folder of its own."""
    environment: Environment = HERE

    @property
    def events(self) -> Path:
        """File that its events are written to, a JSON line each."""
        return self.folder / "events.jsonl"

    @property
    def output(self) -> str:
        """What it printed."""
        return (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace")

    def hand_over(
        self, entries: Sequence[Entry], *, process: int, role: Role, seed: int, turns: Turns | None = None
    ) -> None:
        """Write down what it shall do."""
        handover = Handover(
            version=HANDOVER_VERSION,
            parent_pid=os.getpid(),
            args=[os.fspath(arg) for arg in self.config.invocation_params.args],
            plugins=named_plugins(self.config),
            sys_path=None if self.environment.own_path else list(SYS_PATH),
            lead=self._lead(),
            output=str(self.events),
            basetemp=str(self.folder / "basetemp"),
            process=process,
            role=role,
            shuffle_seed=seed,
            randomly_seed=getattr(self.config.option, "randomly_seed", None),
            turns=turns,
            wanted=[
                Wanted(
                    index=entry.index,
                    path=str(entry.item.path),
                    nodeid=entry.item.nodeid,
                    nth=entry.nth,
                    start_plans=entry.start_plans(process, role),
                )
                for entry in entries
            ],
        )
        plain = json.dumps(msgspec.to_builtins(handover), default=str)
        (self.folder / "handover.json").write_text(plain, encoding="ascii")
        self.events.touch()

    def _lead(self) -> list[str]:
        """The working directory, where this process imports from it (`python -m pytest`); a script does not."""
        here = os.path.realpath(self.config.invocation_params.dir)
        first = SYS_PATH[0] if SYS_PATH else None
        return [str(here)] if first is not None and os.path.realpath(first or here) == here else []

    def spawn(self, process: int) -> subprocess.Popen[bytes]:
        """Start it."""
        environment = {
            **ENVIRONMENT,
            HANDOVER_VARIABLE: str(self.folder / "handover.json"),
            PROCESS_VARIABLE: str(process),
        }
        # A fixed hash seed would measure one layout of every dictionary over and over.
        for name in ("PYTEST_CURRENT_TEST", "PYTHONHASHSEED"):
            environment.pop(name, None)
        if self.environment.own_path:
            environment.pop("PYTHONHOME", None)
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does
        with (self.folder / "output.txt").open("wb") as file:
            return subprocess.Popen(
                [self.environment.program, *flags, "-c", LAUNCH],
                cwd=self.config.invocation_params.dir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def _wait(
    interpreter: subprocess.Popen[bytes],
    events: Path,
    found: dict[int, Found],
    on_event: Callable[[Mapping[str, Any]], None],
) -> None:
    """Follow the events until the interpreter ends; end it where this process is told to end."""
    with terminable(), events.open("rb") as lines:
        try:
            running = True
            while running:
                try:
                    interpreter.wait(POLL_S)
                    running = False
                except subprocess.TimeoutExpired:
                    pass
                for event in new_events(lines):
                    note(event, found)
                    on_event(event)
        except BaseException:
            end(interpreter)
            raise


def new_events(lines: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - a binary file
    """Read the whole lines that were written since the last time."""
    while True:
        place = lines.tell()
        line = lines.readline()
        if not line.endswith(b"\n"):
            lines.seek(place)
            return
        yield json.loads(line)


def note(event: Mapping[str, Any], found: dict[int, Found]) -> None:
    """Keep what an event says of its case."""
    case = found[event["index"]]
    if event["kind"] == "start":
        case.begun = True
    elif event["kind"] == "absent":
        case.absent = True
    elif event["kind"] == "finish":
        case.start = msgspec.convert(event["start"], CaseStart, strict=False)
        case.reports = event["reports"]


def end(interpreter: subprocess.Popen[bytes]) -> None:
    """End an interpreter and what it started."""
    if interpreter.poll() is not None:
        return
    _signal_group(interpreter, signal.SIGTERM)
    try:
        interpreter.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _signal_group(interpreter, getattr(signal, "SIGKILL", signal.SIGTERM))
        interpreter.wait()


def _signal_group(interpreter: subprocess.Popen[bytes], number: int) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(interpreter.pid, number)
    else:
        interpreter.terminate()


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into an end of the session, so that the interpreter is ended too."""

    def stop(number: int, _frame: object) -> None:
        raise pytest.exit.Exception(f"ended by signal {number}", returncode=128 + number)

    try:
        default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        before = signal.signal(signal.SIGTERM, stop) if default else None
    except ValueError:  # not the main thread: signals are somebody else's
        before = None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def last_words(output: str) -> str:
    """What a dead interpreter's output says about its death.

    faulthandler writes a long dump: it is shown from its beginning, everything else from its end.
    """
    lines = output.rstrip().splitlines()
    fatal = next((place for place, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    if fatal is not None:
        return "\n".join(lines[fatal : fatal + LAST_LINES])
    return "\n".join(lines[-LAST_LINES:])
