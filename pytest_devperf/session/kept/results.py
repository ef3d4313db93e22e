"""The results of a session: saved runs, the report, and the files made of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.compare.tally import tally
from pytest_devperf.english import counted
from pytest_devperf.errors import DevperfError
from pytest_devperf.record.record import Run
from pytest_devperf.report.formats import Baselines, Histories
from pytest_devperf.report.report import Report, Saved
from pytest_devperf.session.cases.case_state import CaseStates
from pytest_devperf.session.devices.targets import SessionTargets
from pytest_devperf.session.kept.outputs import Content, Outputs
from pytest_devperf.session.kept.runs import Runs
from pytest_devperf.session.kept.saving import Saving
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.store.outlines import past_runs

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.session.kept.baselines import Missing
    from pytest_devperf.session.kept.step_summary import StepSummary
    from pytest_devperf.session.name import SessionName


class Results:
    """Saves the measurements of a session, and records what was saved."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        targets: SessionTargets,
        plan: Plan,
        outputs: Outputs,
        name: SessionName,
        summary: StepSummary | None = None,
    ) -> None:
        """Prepare the results, without saving anything.

        Args:
            settings: The session's settings.
            storage: Its folders and its store.
            targets: Its devices.
            plan: The plan of a case without marker keywords.
            outputs: The files that are written at the end.
            name: What the session and its runs are known by.
            summary: The summary of the step that the session belongs to.
        """
        self._settings = settings
        self._storage = storage
        self._targets = targets
        self._outputs = outputs
        self._summary = summary
        self.missing: Sequence[Missing] = ()
        """Cases of the baselines that were not measured, by device."""
        self._saved: list[Saved] = []
        self._messages: list[str] = []
        self._runs = Runs(storage.root, plan, storage.version, name)
        self.failed = False
        """Whether something could not be saved."""

    def check(self) -> None:
        """Check, before anything is measured, that the results can be saved.

        Raises:
            UsageError: The store or a file is not writable.
        """
        if self._settings.save is not None:
            self._storage.store.check_writable()
        self._outputs.check()

    def keep(self, states: CaseStates, missing: Sequence[Missing], *, unselected: int = 0) -> None:
        """Save the session's runs and write its files; an error is reported and fails the session.

        Args:
            states: The session's cases.
            missing: Cases of the baselines that were not measured.
            unselected: Number of the baselines' cases that the command did not select.
        """
        self.missing = missing
        if unselected:
            self._messages.append(f"not selected: {counted(unselected, 'case')} of {self._settings.compare}")
        try:
            if self._settings.save is not None:
                self._save(states, self._make_runs(states), self._settings.save)
        except DevperfError as error:
            self.failed = True
            self._messages.append(f"NOT SAVED: {error}")
        self._write_outputs(states)

    @property
    def root(self) -> Path:
        """The root folder of the tests."""
        return self._storage.root

    def report_sentence(self, sentence: str) -> None:
        """Add a sentence to the report."""
        self._messages.append(sentence)

    def break_off(self, states: CaseStates) -> None:
        """Write incomplete files, and report what is not saved, because the session was interrupted.

        An incomplete report is useful; an incomplete saved run would be a worse baseline than the old one.
        """
        save = self._settings.save
        if save is not None and not states.unfinished:
            self._messages.append(f"NOT SAVED as {save}: the session did not finish")
        self._write_outputs(states)

    def _write_outputs(self, states: CaseStates) -> None:
        """Write the files; one that cannot be written fails the session, but does not keep the others from it."""
        report = self.report(states)
        content = Content(report, _baselines(states), lambda: self._histories(report.runs))
        problems = self._outputs.write(content)
        self.failed = self.failed or bool(problems)
        partial = self._outputs.partial_sentence(content.report)
        unsummarised = self._summary.append(content.report) if self._summary and content.report.counts else None
        self._messages += [*problems, *filter(None, (partial, unsummarised))]

    @property
    def unwritten(self) -> Sequence[str]:
        """Names of the files that were asked for and not written."""
        return self._outputs.unwritten

    def report(self, states: CaseStates) -> Report:
        """Build the report of the session."""
        runs = self._make_runs(states)
        unfinished = len(states.unfinished)
        messages = [*self._messages, *self._useless_tolerances(states), *self._targets.remarks]
        compared_with = self._settings.compared_with
        if unfinished and self._settings.save is not None:
            messages.append(
                f"NOT SAVED as {self._settings.save}: {counted(unfinished, 'case')} did not finish, "
                "and an incomplete run would replace the old baseline"
            )
        return Report(
            runs=tuple(runs),
            target=self._settings.target,
            compared_with=compared_with,
            saved=tuple(self._saved),
            messages=tuple(messages),
            closing=tuple(self._targets.notes),
            expected_false_alarms=_expected_false_alarms(states) if compared_with else None,
            pending=unfinished,
        )

    # -- how ------------------------------------------------------------------------------------

    def _make_runs(self, states: CaseStates) -> list[Run]:
        located = [(state, (state.target or self._targets.session_target()).device) for state in states]
        return self._runs.make(located, self.missing)

    def _histories(self, runs: Sequence[Run]) -> Histories:
        """Read the earlier runs of the label; one that cannot be read is reported, and the report has no history."""
        named = [label for label in (self._settings.compare, self._settings.save) if label is not None]
        if not named:
            return {}
        try:
            saved = {each.label for each in self._storage.store.label_summaries()}
            label = next((label for label in named if label in saved), None)
            return past_runs(self._storage.store, label, runs) if label is not None else {}
        except DevperfError as error:
            self._messages.append(f"the report shows no history: {error}")
            return {}

    def _useless_tolerances(self, states: CaseStates) -> list[str]:
        """Report tolerances that match no metric of the session, so that a typo is not taken for a strict tolerance."""
        measured = [metric for state in states if state.record is not None for metric in state.record.metrics]
        known = {"*"} | {
            name for metric in measured for name in (metric.name, metric.name.partition(".")[0], metric.kind)
        }
        names = dict.fromkeys(name for name, _ in self._settings.tolerance if name not in known)
        return (
            [f"--devperf-tolerance={name}=...: no measured metric has this name" for name in names] if measured else []
        )

    def _save(self, states: CaseStates, runs: Sequence[Run], label: str) -> None:
        if states.unfinished:
            return
        saving = Saving(self._settings, self._storage, label)
        baselines = {state.case.id: state.baseline for state in states if self._settings.compare == label}
        for run in runs:
            for found in saving.save(run, baselines):
                if isinstance(found, str):
                    self._messages.append(found)
                else:
                    self._saved.append(found)


def _baselines(states: CaseStates) -> Baselines:
    """Group the baselines of the cases by device."""
    found: dict[str, dict[str, Baseline]] = {}
    for state in states:
        if state.baseline is not None and state.target is not None:
            found.setdefault(state.target.device.fingerprint, {})[state.case.id] = state.baseline
    return found


def _expected_false_alarms(states: CaseStates) -> float:
    """Return the expected number of regressions if nothing had changed; each case has its own policy."""
    return sum(
        tally([state.comparison], state.policy).expected_false_alarms
        for state in states
        if state.comparison is not None
    )
