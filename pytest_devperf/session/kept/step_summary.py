"""The summary of a step of GitHub Actions, to which a session appends its report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.store.writing import reason

if TYPE_CHECKING:
    from pytest_devperf.report.report import Report

LEAST_BYTES = 4096
"""Room for a headline, the counts, and the sentence on what was left out."""


def is_github(environment: Mapping[str, str]) -> bool:
    """Return whether a process runs in a job of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def find_step_summary(environment: Mapping[str, str]) -> StepSummary | None:
    """Find the summary of the step that this process belongs to."""
    path = environment.get("GITHUB_STEP_SUMMARY")
    return StepSummary(Path(path)) if path and is_github(environment) else None


class StepSummary:
    """The file that GitHub shows as the summary of a step."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, report: Report) -> str | None:
        """Append a report, and return a sentence if that is not possible.

        Nobody asked for a summary, so a session does not fail for the lack of one.
        """
        from pytest_devperf.report.markdown.text import SUMMARY_BYTES, render

        try:
            used = self._path.stat().st_size if self._path.exists() else 0
            room = SUMMARY_BYTES - used - len("\n\n")
            if room < LEAST_BYTES:
                return f"the step summary was not written: it has {used:,} bytes already, of at most {SUMMARY_BYTES:,}"
            text = render(report, limit_bytes=room)
            with self._path.open("ab") as file:
                file.write(f"\n{text}\n".encode() if used else f"{text}\n".encode())
        except OSError as error:
            return f"the step summary {self._path} was not written ({reason(error)})"
        return None
