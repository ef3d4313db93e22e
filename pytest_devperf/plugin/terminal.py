"""What a session shows: header, progress while it measures, tables and the last line."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.plugin.assemble import device_record
from pytest_devperf.plugin.place import Pinning
from pytest_devperf.record.codec import settings_of
from pytest_devperf.record.record import Run
from pytest_devperf.report import as_text
from pytest_devperf.report.live import format_cooling, format_measuring
from pytest_devperf.report.report import Report
from pytest_devperf.sensor.summary import summarise
from pytest_devperf.untrusted import printable

if TYPE_CHECKING:
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.measure.round import Round
    from pytest_devperf.plugin.campaign import Campaign
    from pytest_devperf.plugin.ledger import Entry
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.target.target import Target


class Screen:
    """Writes to pytest's terminal; the progress bar appears on a terminal alone."""

    def __init__(self, config: pytest.Config, campaign: Campaign) -> None:
        self._config = config
        self._campaign = campaign
        self._bar: Any = None
        self._shown = False
        self._now = ("", 0)

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
        if isinstance(target, Pinning) and target.pin_words:
            campaign.places.note(target.pin_words)
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
        return as_text.header_lines(
            Report(
                runs=runs,
                target=campaign.options.target,
                compared_with=campaign.options.compare or campaign.options.against,
                messages=tuple(campaign.places.notes),
            )
        )

    # -- while it measures ------------------------------------------------------------------------

    def measuring(self, entry: Entry, process: int) -> None:
        """Show which case is being measured."""
        bar = self._progress()
        if bar is not None:
            self._now = (entry.case.id, process)
            bar.set_postfix_str(format_measuring(*self._now, None), refresh=True)
            bar.update(1)

    def event(self, event: Mapping[str, Any]) -> None:
        """Follow what a fresh interpreter does."""
        if event["kind"] == "start":
            entry = self._campaign.ledger.entries[event["index"]]
            self.measuring(entry, len(entry.starts))

    def tick(self, round_: Round) -> None:
        """A round is done; shows how warm the device is."""
        if self._bar is not None:
            with self._uncaptured():
                self._bar.set_postfix_str(format_measuring(*self._now, round_.temp_c), refresh=True)

    def tell(self, sentence: str) -> None:
        """Write a line at once: something the user has to do, or to know while it happens."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            with self._uncaptured():
                self.clear()
                reporter.ensure_newline()
                reporter.write_line(f"devperf: {sentence}")
                reporter.flush()  # whoever reads it through a pipe has to act now

    def cooling(self, step: Cooling) -> None:
        """Show a wait as it goes."""
        bar = self._progress()
        if bar is not None:
            with self._uncaptured():
                bar.set_postfix_str(f"cooling down: {format_cooling(step)}", refresh=True)

    def _uncaptured(self) -> AbstractContextManager[None]:
        """Write past pytest's capturing: this is called while a test runs."""
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()

    def clear(self) -> None:
        """Make room for a line of pytest's own."""
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _progress(self) -> Any:  # noqa: ANN401 - tqdm, or None
        if self._shown:
            return self._bar
        self._shown = True
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        file = getattr(getattr(reporter, "_tw", None), "_file", None)
        if file is None or not file.isatty() or self._config.option.capture == "no":
            return None
        from tqdm import tqdm

        ledger = self._campaign.ledger
        starts = sum(entry.processes for entry in ledger)
        self._bar = tqdm(total=starts, desc="devperf", unit="start", file=file, leave=False, dynamic_ncols=True)
        return self._bar

    # -- at the end -------------------------------------------------------------------------------

    def summary(self, reporter: Any, report: Report) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write tables, cautions, and the line that counts every outcome."""
        self.close()
        verbosity = self._config.get_verbosity()
        reporter.section("devperf", sep="=")
        text = as_text.render(report, width=reporter._tw.fullwidth, verbosity=verbosity)  # noqa: SLF001 - its width
        reporter.write_line(text)

    def nothing_measured(self, reporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Say that no case was measured, so that silence is not taken for a pass."""
        options = self._campaign.options
        compared = " and nothing was compared" if options.compare or options.against else ""
        saved = f" and nothing was saved as {options.save}" if options.save else ""
        reporter.write_line(printable(f"devperf: no case was measured{compared}{saved}"))


def _glance(target: Target) -> Context | None:
    """Look at a device that is not, or not yet, to be changed for measuring."""
    if isinstance(target, Pinning):
        return target.glance()
    return target.look() if target.device.kind == "host" else None
