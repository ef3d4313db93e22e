"""Measure a case of one commit in turns with another commit, in a pytest of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.errors import StoreError, UsageError
from pytest_devperf.record.codec import decode
from pytest_devperf.record.record import Record
from pytest_devperf.session.launch.interpreter import terminable, undisturbed
from pytest_devperf.session.launch.origin import ENVIRONMENT
from pytest_devperf.session.revision.bisection import Finding
from pytest_devperf.untrusted import excerpt, printable

PASSED, FAILED = 0, 1
"""Exit codes of pytest after which there may be a verdict."""

GRACE_S = 20.0
"""Longest wait for pytest to end after Ctrl-C: it ends two interpreters, which may be importing."""

NOT_SLOWER = frozenset({"within_noise", "improved"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseToMeasure:
    """A case, and how pytest is started for it."""

    case: str
    """Node id."""
    arguments: Sequence[str]
    """Further arguments of pytest."""
    good: str
    """The commit that others are measured against."""
    folder: Path
    """For whatever pytest writes: nothing is written into the checkout."""

    def measure(self, commit: str) -> Finding:
        """Measure a commit.

        Raises:
            UsageError: More than one case was measured.
        """
        document = self.folder / f"{commit}.json"
        code, output = self._run_pytest(commit, document)
        if code not in {PASSED, FAILED} or not document.exists():
            return Finding(outcome="skipped", reason=_last_line(output) or f"pytest exited with {code}")
        try:
            runs = decode(document.read_bytes(), str(document)).runs
        except (OSError, StoreError) as error:
            return Finding(outcome="skipped", reason=str(error))
        records = [record for run in runs for record in run.cases]
        if len(records) > 1:
            raise UsageError(
                f"{self.case} names {len(records)} cases: {', '.join(record.id for record in records)}",
                "pass the id of one case",
            )
        return finding_of(records[0]) if records else Finding(outcome="skipped", reason="no case was measured")

    def _run_pytest(self, commit: str, document: Path) -> tuple[int, str]:
        """Run pytest; return its exit code and what it printed."""
        command = [
            *(sys.executable, "-m", "pytest", self.case, *self.arguments),
            *("-o", f"cache_dir={self.folder / 'cache'}"),
            f"--devperf-against={self.good}..{commit}",
            f"--devperf-json={document}",
        ]
        environment = {"PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"), **ENVIRONMENT}
        # In a session of its own, so that Ctrl-C reaches it once, from here.
        with terminable():
            process = None
            try:
                with undisturbed():
                    process = subprocess.Popen(
                        command,
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                output, _ = process.communicate()
            except BaseException:
                if process is not None:
                    _interrupt(process)
                raise
        return process.returncode, output.decode(errors="replace")


def finding_of(record: Record) -> Finding:
    """Convert the verdict of a case; without one, the commit is skipped."""
    comparison = record.comparison
    if comparison is None:
        return Finding(outcome="skipped", reason=record.reason or f"the test ended as {record.outcome}")
    change = next((each for each in comparison.changes if each.verdict == comparison.verdict), None)
    delta, metric = (None, None) if change is None else (change.delta_pct, change.metric)
    if comparison.verdict == "regressed":
        return Finding(outcome="slower", delta_pct=delta, metric=metric)
    if comparison.verdict in NOT_SLOWER:
        return Finding(outcome="not slower", delta_pct=delta, metric=metric)
    reason = comparison.reason or (change.reason if change is not None else None)
    word = comparison.verdict.replace("_", " ")
    return Finding(outcome="skipped", delta_pct=delta, metric=metric, reason=f"{word}: {reason}" if reason else word)


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """End pytest as Ctrl-C does, so that it ends what it has started; a process that ignores it is terminated."""
    if os.name != "nt":
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_S)
            return
    process.terminate()
    process.communicate()


def _last_line(output: str) -> str:
    """Return pytest's own error in an output, or else its last line with words."""
    lines = [line.strip("= \t") for line in output.splitlines()]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    found = errors or [line for line in lines if line]
    return excerpt(printable(found[-1].removeprefix("ERROR: "))) if found else ""
