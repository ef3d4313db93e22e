"""The terminal output of a session: header, live line, tables, and messages of failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter
from _pytest._io.wcwidth import wcswidth

from pytest_devperf.english import counted
from pytest_devperf.record.codec import settings_of
from pytest_devperf.report.github import without_command
from pytest_devperf.report.header import header_lines, plan_line
from pytest_devperf.report.report import Report
from pytest_devperf.report.table import wrapped
from pytest_devperf.report.terminal import text as as_text
from pytest_devperf.report.terminal.live import format_cooling, format_measuring
from pytest_devperf.report.terminal.paint import Paint, Tone
from pytest_devperf.session.live_line import LiveLine
from pytest_devperf.untrusted import printable

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.compare.noise import Noise
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.measure.round import Round
    from pytest_devperf.session.options.settings import Settings

STYLES: Mapping[Tone, Mapping[str, bool]] = {"bad": {"red": True}, "warn": {"yellow": True}, "good": {"green": True}}
"""pytest's own markup for each tone."""


def painter(tw: TerminalWriter) -> Paint:
    """Return a function that colours text as pytest's terminal writer does, which applies `--color` and NO_COLOR."""
    return lambda text, tone: tw.markup(text, **STYLES[tone])


class Sentence(TerminalRepr):
    """A failure that shows a message instead of a traceback."""

    def __init__(
        self, message: str, section: str, location: tuple[str, int | None, str], *, brief: str | None = None
    ) -> None:
        """Create a failure.

        Args:
            message: Text in the short summary and in JUnit.
            section: Text of the failure if nothing else is shown, as in JUnit.
            location: Location of the test, as in its report.
            brief: Text on the terminal, above the table of all cases; None: `section`.
        """
        path, line, _ = location
        self.reprcrash = ReprFileLocation(path, (line or 0) + 1, message)
        self._section = section
        self._brief = section if brief is None else brief

    def __str__(self) -> str:
        """The whole section."""
        return self._section

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the brief section as wide as the terminal; its sentences in red.

        In a file or a pipe, a sentence stays on one line, where it can be searched for.
        """
        lines = self._brief.splitlines()
        on_terminal = tw._file.isatty()  # noqa: SLF001 - there is no public way
        sentences = lines.index("") if "" in lines else 1
        for at, line in enumerate(lines):
            markup = {"red": True, "bold": True} if at < sentences else {}
            for part in (
                wrapped(line, tw.fullwidth, indent="" if markup else "    ") if on_terminal and line else [line]
            ):
                tw.line(part, **markup)


class Screen:
    """Writes to pytest's terminal; the live line appears only on a real one."""

    def __init__(self, config: pytest.Config, *, for_github: bool = False) -> None:
        """Write nothing yet.

        Args:
            config: pytest's configuration.
            for_github: Whether the output is that of a step of GitHub Actions, which obeys some lines.
        """
        self._config = config
        self._safe = without_command if for_github else str
        self._stream: LiveLine | None = None
        self._stage = ""
        self._case = ""
        self._place = 0
        self._cases = 0
        self._temp_c: float | None = None

    def open(self) -> None:
        """Replace the stream behind pytest's terminal writer."""
        writer = self._writer()
        if writer is not None:
            self._stream = writer._file = LiveLine(writer._file, wcswidth)  # noqa: SLF001 - pytest has no public way

    def header(self, report: Report) -> list[str]:
        """Describe the devices, their state, and how they are measured."""
        return self._fitted(header_lines(report, brief=True))

    def plan(self, settings: Settings, plan: Plan, cases: int, how: str, waits: str | None) -> None:
        """Print how much will be measured, once the cases are known.

        Args:
            settings: The session's settings.
            plan: The plan of a case without marker keywords.
            cases: Number of cases.
            how: How much of them is measured.
            waits: Longest waits for devices, if there are any.
        """
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self._config.get_verbosity() < 0:
            return
        baseline = settings.compared_with
        what = f"{counted(cases, 'case')} compared with {baseline}" if baseline else counted(cases, "case")
        for line in self._fitted([plan_line([what, how], settings_of(plan), waits)]):
            reporter.write_line(line)

    def _fitted(self, lines: Iterable[str]) -> list[str]:
        """Wrap lines at the width of the terminal."""
        writer = self._writer()
        width = 80 if writer is None else writer.fullwidth
        return [part for line in lines for part in wrapped(line, width, indent="    ")]

    # -- while it measures ------------------------------------------------------------------------

    def stage(self, words: str, cases: int, *, first: int = 1) -> None:
        """Show which process start begins.

        Args:
            words: Number and purpose of the process start.
            cases: Number of its cases.
            first: Number of the first one among them.
        """
        self._stage, self._cases, self._place, self._case = words, cases, first - 1, ""
        self._show()

    def measuring(self, case: Case) -> None:
        """Show which case is measured."""
        self._place += 1
        self._case, self._temp_c = case.id, None
        self._show()

    def idle(self) -> None:
        """Show that a case has been measured and the next one has not begun."""
        self._case = ""
        self._show()

    def round_done(self, taken: Round) -> None:
        """Show the temperature of the device after a round."""
        self._temp_c = taken.temp_c
        self._show()

    def cooling(self, step: Cooling) -> None:
        """Show the progress of a wait, and its result."""
        if step.done:
            self._show()
        else:
            self._draw(f"cooling down: {format_cooling(step)}")

    def announce(self, sentence: str) -> None:
        """Print a line at once: something that the user has to do, or to know while it happens."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            with self._uncaptured():
                reporter.ensure_newline()
                reporter.write_line(printable(f"devperf: {sentence}"))
                reporter.flush()  # a reader of a pipe has to act now
            self._show()

    def clear(self) -> None:
        """Erase the live line: nothing is measured."""
        self._stage = self._case = ""
        if self._stream is not None:
            self._stream.erase()

    def _show(self) -> None:
        """Draw the current stage and case."""
        if not self._case:
            self._draw(self._stage)
        elif self._stream is not None:
            place = (self._place, self._cases)
            self._draw(format_measuring(self._stage, self._case, *place, self._temp_c, self._stream.room))

    def _draw(self, words: str) -> None:
        stream, writer = self._stream, self._writer()
        # Without capturing, tests print to the same terminal, and the column in which they stop is not known.
        if not words or stream is None or not stream.shows_live or self._config.option.capture == "no":
            return
        with self._uncaptured():
            stream.draw(words, writer.width_of_current_line)

    def _writer(self) -> Any:  # noqa: ANN401 - pytest's terminal writer, or None
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        return getattr(reporter, "_tw", None)

    def _uncaptured(self) -> AbstractContextManager[None]:
        """Suspend pytest's capturing: this is called while a test runs."""
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()

    # -- at the end -------------------------------------------------------------------------------

    def summary(self, reporter: Any, report: Report, explained: set[str]) -> None:  # noqa: ANN401 - pytest's own
        """Print tables, cautions, and the line that counts every outcome.

        Args:
            reporter: pytest's own reporter.
            report: The results of the session.
            explained: Ids of the cases that pytest itself shows, each in the section of its failure.
        """
        writer = reporter._tw  # noqa: SLF001 - its width and colours
        reporter.write_sep("=", "devperf")
        text = as_text.render(
            report,
            width=writer.fullwidth,
            verbosity=self._config.get_verbosity(),
            paint=painter(writer),
            explained=set() if self._config.option.tbstyle == "no" else explained,
        )
        for line in text.splitlines():
            reporter.write_line(self._safe(line))

    def noise(self, reporter: Any, noises: Mapping[str, tuple[Noise, ...]]) -> None:  # noqa: ANN401 - pytest's own
        """Print how repetitions of unchanged code differ."""
        from pytest_devperf.report.terminal.noise import render

        reporter.write_sep("-", "devperf: noise of unchanged code")
        for line in render(noises, width=reporter._tw.fullwidth).splitlines():  # noqa: SLF001 - as above
            reporter.write_line(line)

    def nothing_measured(self, reporter: Any, settings: Settings, unwritten: Sequence[str]) -> None:  # noqa: ANN401
        """Print that no case was measured, so that silence is not taken for a pass.

        Args:
            reporter: pytest's own reporter.
            settings: The session's settings.
            unwritten: Requested files that were not written.
        """
        compared = " and nothing was compared" if settings.compared_with else ""
        saved = f" and nothing was saved as {settings.save}" if settings.save else ""
        if unwritten:
            saved += f" and nothing was written to {' or '.join(unwritten)}"
        reporter.write_line(printable(f"devperf: no case was measured{compared}{saved}"))
