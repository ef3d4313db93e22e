"""The results of a session: saved runs, the run document, the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.compare.tally import tally
from pytest_devperf.english import counted
from pytest_devperf.errors import DevperfError, UsageError
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Document, Run
from pytest_devperf.report.report import Report, Saved
from pytest_devperf.session.case_state import CaseStates
from pytest_devperf.session.devices.targets import SessionTargets
from pytest_devperf.session.kept.document_output import NAME, DocumentOutput, words_for
from pytest_devperf.session.kept.runs import Runs
from pytest_devperf.session.kept.saving import Saving
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.store.open import expand_home
from pytest_devperf.store.writing import write_file

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.session.kept.baselines import Missing


class Results:
    """Saves the measurements of a session, and remembers what was saved."""

    def __init__(
        self, settings: Settings, storage: Storage, targets: SessionTargets, plan: Plan, output: DocumentOutput | None
    ) -> None:
        """Keep nothing yet.

        Args:
            settings: The session's.
            storage: Its folders and its store.
            targets: Its devices.
            plan: The plan of a case whose marker says nothing.
            output: Standard output, if it was taken for the document before anything was written to it.
        """
        self._settings = settings
        self._storage = storage
        self._targets = targets
        self._output = output
        self.missing: Sequence[Missing] = ()
        """Cases of the baselines that were not measured, by device."""
        self._saved: list[Saved] = []
        self._messages: list[str] = []
        self._runs = Runs(storage.root, plan, storage.version)
        self.wrote_document = False
        self.failed = False
        """Whether something that was to be kept could not be."""

    def check(self) -> None:
        """Refuse, before anything is measured, what could not be kept afterwards.

        Raises:
            UsageError: The store or the file's folder cannot be written.
        """
        if self._settings.save is not None:
            self._storage.store.check_writable()
        if self._settings.json == NAME:
            self._reserved_output()
        elif self._settings.json is not None:
            path = self._json_path()
            if path.is_dir() or not path.parent.is_dir():
                what = "is a folder" if path.is_dir() else f"is in {path.parent}, which is not a folder"
                raise UsageError(f"--devperf-json={self._settings.json} {what}: name a file in a folder that exists")

    def _reserved_output(self) -> DocumentOutput:
        """Give standard output.

        Raises:
            UsageError: It was not taken in time: the plugin was loaded after pytest had begun to capture.
        """
        if self._output is None:
            raise UsageError(
                "--devperf-json=- needs pytest-devperf to be loaded before conftest files are: "
                "install it, or load it with -p pytest_devperf.plugin"
            )
        return self._output

    def keep(self, states: CaseStates, missing: Sequence[Missing], *, unselected: int = 0) -> None:
        """Save the session's runs and write its document; an error is reported and fails the session.

        Args:
            states: The session's cases.
            missing: Cases of the baselines that were not measured.
            unselected: How many of the baselines' cases the command did not select.
        """
        self.missing = missing
        if unselected:
            self._messages.append(f"not selected: {counted(unselected, 'case')} of {self._settings.compare}")
        runs = self._make_runs(states)
        try:
            if self._settings.save is not None:
                self._save(states, runs, self._settings.save)
            self._write_document(runs)
        except DevperfError as error:
            self.failed = True
            self._messages.append(f"NOT SAVED: {error}")

    @contextmanager
    def unless_broken_off(self, states: CaseStates) -> Iterator[None]:
        """If the block is ended early (`-x`, Ctrl-C), write a document of what there is, and say what is not kept.

        A document is a report, so half of one is of use; half a saved run would be a worse baseline than the old one.
        """
        try:
            yield
        except BaseException:
            self._break_off(states)
            raise

    def _break_off(self, states: CaseStates) -> None:
        if not states:
            return
        save = self._settings.save
        if save is not None and not states.unfinished:
            self._messages.append(f"NOT SAVED as {save}: the session was ended before its end")
        try:
            self._write_document(self._make_runs(states))
        except DevperfError as error:
            self._messages.append(f"NOT SAVED: {error}")

    def _write_document(self, runs: Sequence[Run]) -> None:
        name = self._settings.json
        if name is None:
            return
        data = encode(Document(runs=tuple(runs)))
        if name == NAME:
            self._reserved_output().write(data)
        else:
            write_file(self._json_path(), data)
        self.wrote_document = True
        finished, unfinished = sum(len(run.cases) for run in runs), sum(len(run.unfinished) for run in runs)
        if unfinished:
            self._messages.append(
                f"{words_for(name)} got {finished} of {counted(finished + unfinished, 'case')}: "
                "the session was ended before the others"
            )

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

    def _useless_tolerances(self, states: CaseStates) -> list[str]:
        """Name tolerances that no metric of the session goes by: a mistyped one must not pass for a strict one."""
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

    def _json_path(self) -> Path:
        assert self._settings.json is not None
        return self._storage.folder / expand_home(self._settings.json, what="--devperf-json")


def _expected_false_alarms(states: CaseStates) -> float:
    """Return the expected number of regressions in this comparison if nothing had changed; cases have own policies."""
    return sum(
        tally([state.comparison], state.policy).expected_false_alarms
        for state in states
        if state.comparison is not None
    )
