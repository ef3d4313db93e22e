"""What a session shows: header, a live line while it measures, tables and the last line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.english import counted
from pytest_devperf.plugin.assemble import device_record
from pytest_devperf.plugin.cooler import bounds_words
from pytest_devperf.plugin.kind import is_phone
from pytest_devperf.plugin.outcome import painter
from pytest_devperf.plugin.place import Pinning
from pytest_devperf.plugin.stdout import words_for
from pytest_devperf.plugin.stream import Stream
from pytest_devperf.record.codec import settings_of
from pytest_devperf.record.record import Run
from pytest_devperf.report import as_text
from pytest_devperf.report.header import order_words
from pytest_devperf.report.live import format_cooling, format_measuring
from pytest_devperf.report.report import Report
from pytest_devperf.report.table import wrapped
from pytest_devperf.sensor.summary import summarise
from pytest_devperf.untrusted import printable

if TYPE_CHECKING:
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.measure.round import Round
    from pytest_devperf.plugin.campaign import Campaign
    from pytest_devperf.plugin.ledger import Entry
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.protocol import Target


class Screen:
    """Writes to pytest's terminal; the live line appears only on a real one."""

    def __init__(self, config: pytest.Config, campaign: Campaign) -> None:
        self._config = config
        self._campaign = campaign
        self._stream: Stream | None = None
        self._stage = ""
        self._case = ""
        self._place = 0
        self._cases = 0
        self._temp_c: float | None = None

    def open(self) -> None:
        """Put a stream of ours behind pytest's terminal writer."""
        writer = self._writer()
        if writer is not None:
            self._stream = writer._file = Stream(writer._file)  # noqa: SLF001 - pytest offers no other way

    def header(self) -> list[str]:
        """Describe the device, its state, and how it is measured."""
        campaign = self._campaign
        ready = campaign.settle()
        target = campaign.places.session_target()
        looks = [(target, target.look() if ready else _glance(target))]
        phone = campaign.places.phone() if ready and campaign.options.target == "auto" else None
        if phone is not None:
            # It is opened with the first case that runs on it: a session of Python calls leaves it alone.
            looks.append((phone, _glance(phone)))
        campaign.places.note_state(target)
        runs = tuple(
            Run(
                taken_at="",
                devperf_version="",
                device=device_record(each.device),
                settings=settings_of(campaign.plan),
                run_context=summarise([look] if look is not None else [], prerun=None),
            )
            for each, look in looks
        )
        return self._fitted(as_text.header_lines(Report(runs=runs, messages=tuple(campaign.places.notes))))

    def plan(self) -> None:
        """Write how much will be measured, now that the cases are known."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self._config.get_verbosity() < 0:
            return
        campaign = self._campaign
        options = campaign.options
        baseline = options.compare or options.against
        cases = counted(len(campaign.ledger.entries), "case")
        what = f"{cases} compared with {baseline}" if baseline else cases
        words = [what, campaign.plan_words(), *order_words(settings_of(campaign.plan))]
        lines = [printable(f"devperf plan: {', '.join(words)}")]
        if any(map(is_phone, campaign.places.opened)):
            lines.append(f"devperf waits: {bounds_words(campaign.plan)}")
        for line in self._fitted(lines):
            reporter.write_line(line)

    def _fitted(self, lines: Iterable[str]) -> list[str]:
        """Break lines between words, to the width of the terminal."""
        writer = self._writer()
        width = 80 if writer is None else writer.fullwidth
        return [part for line in lines for part in wrapped(line, width, indent="    ")]

    # -- while it measures ------------------------------------------------------------------------

    def stage(self, words: str, cases: int, *, first: int = 1) -> None:
        """Show what begins now.

        Args:
            words: Which process start it is, and what for.
            cases: How many cases it has.
            first: Place of the first one among them.
        """
        self._stage, self._cases, self._place, self._case = words, cases, first - 1, ""
        self._show()

    def measuring(self, entry: Entry) -> None:
        """Show which case is being measured."""
        self._place += 1
        self._case, self._temp_c = entry.case.id, None
        self._show()

    def event(self, event: Mapping[str, Any]) -> None:
        """Follow what a fresh interpreter does."""
        if event["kind"] == "start":
            self.measuring(self._campaign.ledger.entries[event["index"]])
        else:
            self._case = ""
            self._show()

    def tick(self, round_: Round) -> None:
        """Show how warm the device is after a round."""
        self._temp_c = round_.temp_c
        self._show()

    def cooling(self, step: Cooling) -> None:
        """Show a wait as it goes, and after it what it delayed."""
        if step.done:
            self._show()
        else:
            self._draw(f"cooling down: {format_cooling(step)}")

    def tell(self, sentence: str) -> None:
        """Write a line at once: something the user has to do, or to know while it happens."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            with self._uncaptured():
                reporter.ensure_newline()
                reporter.write_line(printable(f"devperf: {sentence}"))
                reporter.flush()  # whoever reads it through a pipe has to act now
            self._show()

    def clear(self) -> None:
        """Take the live line away: nothing is being measured."""
        self._stage = self._case = ""
        if self._stream is not None:
            self._stream.erase()

    def _show(self) -> None:
        """Draw the stage and the case as they stand."""
        if not self._case:
            self._draw(self._stage)
        elif self._stream is not None:
            place = (self._place, self._cases)
            self._draw(format_measuring(self._stage, self._case, *place, self._temp_c, self._stream.room))

    def _draw(self, words: str) -> None:
        stream, writer = self._stream, self._writer()
        # Without capturing, tests print to the same terminal, and nobody knows in which column they stop.
        if not words or stream is None or not stream.shows_live or self._config.option.capture == "no":
            return
        with self._uncaptured():
            stream.draw(words, writer.width_of_current_line)

    def _writer(self) -> Any:  # noqa: ANN401 - pytest's terminal writer, or None
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        return getattr(reporter, "_tw", None)

    def _uncaptured(self) -> AbstractContextManager[None]:
        """Write past pytest's capturing: this is called while a test runs."""
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()

    # -- at the end -------------------------------------------------------------------------------

    def summary(self, reporter: Any, report: Report) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write tables, cautions, and the line that counts every outcome."""
        verbosity = self._config.get_verbosity()
        reporter.write_sep("=", "devperf")
        writer = reporter._tw  # noqa: SLF001 - its width and colours
        text = as_text.render(
            report,
            width=writer.fullwidth,
            verbosity=verbosity,
            paint=painter(writer),
            explained=self._explained(),
        )
        for line in text.splitlines():
            reporter.write_line(line)

    def _explained(self) -> set[str]:
        """Collect the ids of the cases that pytest itself explains, each in the section of its failure."""
        if self._config.option.tbstyle == "no":
            return set()
        return {
            entry.case.id
            for entry in self._campaign.ledger
            if entry.logged and any(report.failed for report in entry.reports)
        }

    def nothing_measured(self, reporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Say that no case was measured, so that silence is not taken for a pass."""
        options = self._campaign.options
        compared = " and nothing was compared" if options.compare or options.against else ""
        saved = f" and nothing was saved as {options.save}" if options.save else ""
        if options.json and not self._campaign.keeper.wrote_document:
            saved += f" and nothing was written to {words_for(options.json)}"
        reporter.write_line(printable(f"devperf: no case was measured{compared}{saved}"))


def _glance(target: Target) -> Context | None:
    """Look at a device that is not, or not yet, to be changed for measuring."""
    if isinstance(target, Pinning):
        return target.glance()
    return target.look() if target.device.kind == "host" else None
