"""Follow fresh interpreters, which write a line of JSON per event, so that a crash loses no earlier results."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from pytest_devperf.session.launch.interpreter import HERE, Assignment, Environment, Job, end, terminable
from pytest_devperf.session.starts.start import CaseStart

POLL_S = 0.5
"""Time between two reads of the progress while a fresh interpreter measures: long enough not to disturb it."""

LAST_LINES = 40
"""Lines of a dead interpreter's output that are shown."""


@dataclass(slots=True, kw_only=True)
class WorkerResult:
    """The result of a fresh interpreter for one case."""

    begun: bool = False
    absent: bool = False
    start: CaseStart | None = None
    reports: list[Mapping[str, Any]] = field(default_factory=list)
    """The test's reports as plain data, for the edge."""
    died: str | None = None
    """The interpreter's last output, if it died in this case."""

    @property
    def settled(self) -> bool:
        """Whether the case needs no other interpreter."""
        return self.absent or self.start is not None

    @property
    def fell(self) -> bool:
        """Whether the interpreter died in this case."""
        return self.begun and not self.settled


def run_cases(assignment: Assignment, environment: Environment = HERE) -> Iterator[tuple[int, WorkerResult]]:
    """Run cases in fresh interpreters until each has a result; one interpreter unless it dies.

    Args:
        assignment: The work; at least one case.
        environment: The environment of the interpreter.

    Yields:
        The index of a case and its result, as soon as there is one. If the iterator is closed, the interpreter ends.
    """
    found = {each.index: WorkerResult() for each in assignment.wanted}
    waiting = list(assignment.wanted)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True) as name:
            job = Job(assignment=replace(assignment, wanted=waiting), folder=Path(name), environment=environment)
            job.hand_over()
            for index in _follow(job.spawn(), job.events, found, assignment.on_event):
                yield index, found[index]
            output = job.output
        left = [each for each in waiting if not found[each.index].settled]
        rest = [each for each in left if not found[each.index].begun]
        stuck = len(rest) == len(waiting)
        for each in left:
            if stuck or found[each.index].begun:
                found[each.index].died = output
                yield each.index, found[each.index]
        waiting = [] if stuck else rest


def _follow(
    interpreter: subprocess.Popen[bytes],
    events: Path,
    found: dict[int, WorkerResult],
    on_event: Callable[[Mapping[str, Any]], None],
) -> Iterator[int]:
    """Follow the events until the interpreter exits, and yield the cases that have a result.

    The interpreter is ended if this process is interrupted or the iterator is closed.
    """
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
                    take_event(event, found)
                    on_event(event)
                    if found[event["index"]].settled:
                        yield event["index"]
        except BaseException:
            end(interpreter)
            raise


def new_events(lines: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - a binary file
    """Read the complete lines that were written since the last call."""
    while True:
        place = lines.tell()
        line = lines.readline()
        if not line.endswith(b"\n"):
            lines.seek(place)
            return
        yield json.loads(line)


def take_event(event: Mapping[str, Any], found: dict[int, WorkerResult]) -> None:
    """Keep the content of an event for its case."""
    case = found[event["index"]]
    if event["kind"] == "start":
        case.begun = True
    elif event["kind"] == "absent":
        case.absent = True
    elif event["kind"] == "finish":
        case.start = msgspec.convert(event["start"], CaseStart, strict=False)
        case.reports = event["reports"]


def last_words(output: str) -> str:
    """Return the lines of a dead interpreter's output that explain its death.

    faulthandler writes a long dump: it is shown from its beginning, everything else from its end.
    """
    lines = output.rstrip().splitlines()
    fatal = next((place for place, line in enumerate(lines) if line.startswith("Fatal Python error")), None)
    if fatal is not None:
        return "\n".join(lines[fatal : fatal + LAST_LINES])
    return "\n".join(lines[-LAST_LINES:])
