"""Annotations on failed cases in GitHub Actions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.plugin.reports import REGRESSED
from pytest_devperf.report.github import MOST_ANNOTATIONS, Annotation, format_annotation


class Annotations:
    """Writes an annotation for each case that failed, regressions first."""

    def __init__(self, config: pytest.Config, workspace: str | None) -> None:
        """Note no failure yet.

        Args:
            config: pytest's configuration.
            workspace: Folder of the repository, which paths of annotations are relative to; None: rootdir.
        """
        self._root = config.rootpath
        self._workspace = Path(workspace) if workspace else config.rootpath
        self._cases: set[str] = set()
        self._failed: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note failures, and which tests are cases: other tests belong to other plugins."""
        if hasattr(report, "devperf"):
            self._cases.add(report.nodeid)
        if report.failed:
            self._failed.append(report)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write the annotations."""
        terminalreporter.ensure_newline()
        for annotation in self._annotations():
            terminalreporter.write_line(format_annotation(annotation))

    def _annotations(self) -> Iterator[Annotation]:
        failed = [report for report in self._failed if report.nodeid in self._cases]
        failed.sort(key=lambda report: not _is_regressed(report))
        for report in failed[:MOST_ANNOTATIONS]:
            file, line = self._place(report)
            what = "REGRESSED" if _is_regressed(report) else "FAILED"
            yield Annotation(title=f"{what} {report.nodeid}", message=_message(report), file=file, line=line)

    def _place(self, report: pytest.TestReport) -> tuple[str | None, int]:
        """Find the line of a failure: where it was raised, if that is in the repository, else the test."""
        path, line, _ = report.location
        places = [(path, (line or 0) + 1)]
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            places.insert(0, (crash.path, crash.lineno))
        for each, number in places:
            absolute = os.path.realpath(self._root / each)
            workspace = os.path.realpath(self._workspace)
            if Path(absolute).is_relative_to(workspace):
                return Path(absolute).relative_to(workspace).as_posix(), number
        return None, 1


def _is_regressed(report: pytest.TestReport) -> bool:
    return getattr(report, REGRESSED, False)


def _message(report: pytest.TestReport) -> str:
    """Return the sentences of a failure, without tables and traceback."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = report.longreprtext if crash is None or _is_regressed(report) else crash.message
    return text.partition("\n\n")[0]
