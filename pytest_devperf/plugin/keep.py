"""What is left of a session: the saved runs, the run document, the report."""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

import pytest_devperf
from pytest_devperf.compare.tally import tally
from pytest_devperf.english import counted
from pytest_devperf.errors import DevperfError
from pytest_devperf.plugin.assemble import device_record
from pytest_devperf.plugin.baseline import store_of
from pytest_devperf.plugin.chosen import Options
from pytest_devperf.plugin.kind import plan_on
from pytest_devperf.plugin.stdout import NAME, OUTPUT, check_reserved, words_for
from pytest_devperf.record.caution import refusing
from pytest_devperf.record.codec import encode, settings_of
from pytest_devperf.record.record import DeviceRecord, Document, Record, Run
from pytest_devperf.report.report import Report, Saved
from pytest_devperf.sensor.summary import chain_looks, summarise
from pytest_devperf.store.commit import read_commit
from pytest_devperf.store.generation import save_run
from pytest_devperf.store.writing import write_file

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.plugin.baseline import Missing
    from pytest_devperf.plugin.ledger import Entry, Ledger
    from pytest_devperf.plugin.place import Places
    from pytest_devperf.sensor.context import RunContext
    from pytest_devperf.store.store import Store

RUN_ID_BYTES = 4
"""Random bytes of a run's id: enough to tell the runs of one second apart."""


class Keeper:
    """Keeps what a session measured, and remembers what became of it."""

    def __init__(self, config: pytest.Config, options: Options, places: Places, plan: Plan) -> None:
        self._config = config
        self._options = options
        self._places = places
        self._plan = plan
        self.missing: Sequence[Missing] = ()
        """Cases of the baselines that were not measured, by device."""
        self._saved: list[Saved] = []
        self._messages: list[str] = []
        self._taken_at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._ids: dict[str, str] = {}
        self.wrote_document = False
        self.failed = False
        """Whether something that was to be kept could not be."""

    def check(self) -> None:
        """Refuse, before anything is measured, what could not be kept afterwards.

        Raises:
            pytest.UsageError: The store or the file's folder cannot be written.
        """
        try:
            if self._options.save is not None:
                store_of(self._config, self._options).check_writable()
        except DevperfError as error:
            raise pytest.UsageError(str(error)) from None
        if self._options.json == NAME:
            check_reserved(self._config)
        elif self._options.json is not None:
            path = self._json_path()
            if path.is_dir() or not path.parent.is_dir():
                what = "is a folder" if path.is_dir() else f"is in {path.parent}, which is not a folder"
                raise pytest.UsageError(
                    f"--devperf-json={self._options.json} {what}: name a file in a folder that exists"
                )

    def keep(self, ledger: Ledger, missing: Sequence[Missing], *, unselected: int = 0) -> None:
        """Save the session's runs and write its document; an error is reported and fails the session.

        Args:
            ledger: The session's cases.
            missing: Cases of the baselines that were not measured.
            unselected: How many of the baselines' cases the command did not select.
        """
        self.missing = missing
        if unselected:
            self._messages.append(f"not selected: {counted(unselected, 'case')} of {self._options.compare}")
        runs = self._runs(ledger)
        try:
            if self._options.save is not None:
                self._save(ledger, runs, self._options.save)
            self._write_document(runs)
        except DevperfError as error:
            self.failed = True
            self._messages.append(f"NOT SAVED: {error}")

    @contextmanager
    def unless_broken_off(self, ledger: Ledger) -> Iterator[None]:
        """If the block is ended early (`-x`, Ctrl-C), write a document of what there is, and say what is not kept.

        A document is a report, so half of one is of use; half a saved run would be a worse baseline than the old one.
        """
        try:
            yield
        except BaseException:
            self._break_off(ledger)
            raise

    def _break_off(self, ledger: Ledger) -> None:
        if not ledger.entries:
            return
        save = self._options.save
        if save is not None and not ledger.unfinished:
            self._messages.append(f"NOT SAVED as {save}: the session was ended before its end")
        try:
            self._write_document(self._runs(ledger))
        except DevperfError as error:
            self._messages.append(f"NOT SAVED: {error}")

    def _write_document(self, runs: Sequence[Run]) -> None:
        name = self._options.json
        if name is None:
            return
        data = encode(Document(runs=tuple(runs)))
        if name == NAME:
            self._config.stash[OUTPUT].write(data)
        else:
            write_file(self._json_path(), data)
        self.wrote_document = True
        finished, unfinished = sum(len(run.cases) for run in runs), sum(len(run.unfinished) for run in runs)
        if unfinished:
            self._messages.append(
                f"{words_for(name)} got {finished} of {counted(finished + unfinished, 'case')}: "
                "the session was ended before the others"
            )

    def report(self, ledger: Ledger) -> Report:
        """Put together what the session came to."""
        runs = self._runs(ledger)
        unfinished = len(ledger.unfinished)
        messages = [*self._messages, *self._useless_tolerances(ledger), *self._places.remarks]
        compared_with = self._options.compare or self._options.against
        if unfinished and self._options.save is not None:
            messages.append(
                f"NOT SAVED as {self._options.save}: {counted(unfinished, 'case')} did not finish, "
                "and an incomplete run would replace the old baseline"
            )
        return Report(
            runs=tuple(runs),
            target=self._options.target,
            compared_with=compared_with,
            saved=tuple(self._saved),
            messages=tuple(messages),
            closing=tuple(self._places.notes),
            expected_false_alarms=_expected_false_alarms(ledger) if compared_with else None,
            pending=unfinished,
        )

    # -- how ------------------------------------------------------------------------------------

    def _runs(self, ledger: Ledger) -> list[Run]:
        """One run per device that cases were measured on, or should have been."""
        groups: dict[str, tuple[DeviceRecord, list[Entry]]] = {}
        for entry in ledger:
            device = (entry.target or self._places.session_target()).device
            groups.setdefault(device.fingerprint, (device_record(device), []))[1].append(entry)
        missing = {each.device.fingerprint: each for each in self.missing}
        for fingerprint, each in missing.items():
            groups.setdefault(fingerprint, (each.device, []))
        commit = read_commit(self._config.rootpath) if groups else None
        return [
            Run(
                id=self._id(fingerprint),
                taken_at=self._taken_at,
                devperf_version=pytest_devperf.__version__,
                commit=commit,
                device=device,
                settings=settings_of(plan_on(self._plan, device.kind)),
                run_context=_context(entries),
                cases=tuple(entry.record for entry in entries if entry.record is not None),
                unfinished=tuple(entry.case.id for entry in entries if not entry.logged),
                missing=missing[fingerprint].cases if fingerprint in missing else (),
            )
            for fingerprint, (device, entries) in groups.items()
        ]

    def _useless_tolerances(self, ledger: Ledger) -> list[str]:
        """Name tolerances that no metric of the session goes by: a mistyped one must not pass for a strict one."""
        measured = [metric for entry in ledger if entry.record is not None for metric in entry.record.metrics]
        known = {"*"} | {
            name for metric in measured for name in (metric.name, metric.name.partition(".")[0], metric.kind)
        }
        names = dict.fromkeys(name for name, _ in self._options.tolerance if name not in known)
        return (
            [f"--devperf-tolerance={name}=...: no measured metric has this name" for name in names] if measured else []
        )

    def _id(self, fingerprint: str) -> str:
        return self._ids.setdefault(fingerprint, secrets.token_hex(RUN_ID_BYTES))

    def _save(self, ledger: Ledger, runs: Sequence[Run], label: str) -> None:
        if ledger.unfinished:
            return
        store = store_of(self._config, self._options)
        for run in runs:
            cases, held_back = self._worth_saving(ledger, run, label)
            if not any(record.outcome == "passed" for record in cases):
                self._messages.append(f"NOT SAVED as {label}: no case passed")
                continue
            kept = msgspec.structs.replace(run, label=label, cases=cases)
            self._tell_left_behind(store, kept)
            path = _typed(save_run(store, kept, append=self._options.append), Path(self._config.invocation_params.dir))
            refusals = {
                slug
                for record in cases
                for slug in refusing(
                    record.cautions,
                    kind=run.device.kind,
                    strict_context=self._options.strict_context,
                    accept=self._options.accept,
                )
            }
            self._saved.append(
                Saved(label=label, path=path, refusals=tuple(sorted(refusals)), held_back=tuple(held_back))
            )

    def _tell_left_behind(self, store: Store, kept: Run) -> None:
        """Say which cases of the old generation have no part in the new one: they will be new next time."""
        if self._options.append or kept.label is None:
            return
        with suppress(DevperfError):  # a damaged baseline is replaced; nothing is known of its cases
            old = {
                record.id
                for run in store.runs(kept.device.fingerprint, kept.label, newest=True)
                for record in run.cases
            }
            left = sorted(old - {record.id for record in kept.cases})
            if left:
                self._messages.append(
                    f"{counted(len(left), 'earlier case')} of {kept.label} not in this run, so NEW in the next "
                    f"comparison ({left[0]}{', ...' if len(left) > 1 else ''}): save all cases together, or add "
                    "these with --devperf-append"
                )

    def _worth_saving(self, ledger: Ledger, run: Run, label: str) -> tuple[tuple[Record, ...], list[str]]:
        """Leave cases that regressed or failed their old baseline; a comparison is no part of what is kept.

        A run that joins a generation leaves them out instead: their old baseline is part of it already.
        """
        cases = []
        held_back = []
        baselines = {entry.case.id: entry.baseline for entry in ledger if self._options.compare == label}
        for record in run.cases:
            regressed = record.comparison is not None and record.comparison.verdict == "regressed"
            old = baselines.get(record.id)
            unfit = record.outcome in {"failed", "error"} or (regressed and not self._options.save_regressed)
            if old is None or not unfit:
                cases.append(record)
            else:
                held_back += [record.id] if regressed else []
                cases += [] if self._options.append else [old.runs[0].record]
        return tuple(cases), held_back

    def _json_path(self) -> Path:
        assert self._options.json is not None
        return Path(self._config.invocation_params.dir) / Path(self._options.json).expanduser()


def _typed(path: str, folder: Path) -> str:
    """Spell a path as somebody in a folder would type it; a URL stays as it is."""
    if "://" in path:
        return path
    try:
        return min(os.path.relpath(path, folder), path, key=len)
    except ValueError:  # on another drive
        return path


def _context(entries: Sequence[Entry]) -> RunContext:
    """Surroundings of a whole run: from its first case's first look to its last case's last."""
    starts = [start for entry in entries for start in entry.starts]
    context = summarise(
        sorted(chain_looks(start.looks for start in starts), key=lambda look: look.at_ns),
        [taken for start in starts for timed in start.timed for taken in timed.start_result.rounds],
        prerun=next((start.prerun for start in starts if start.prerun is not None), None),
    )
    env = dict(context.env)
    for start in starts:
        env.update({fact: value for fact, value in start.env.items() if value is not None})
    known = [entry.record.run_context.comparable_to_baseline for entry in entries if entry.record is not None]
    comparable = any(known) if any(each is not None for each in known) else None
    return replace(context, env=env, comparable_to_baseline=comparable)


def _expected_false_alarms(ledger: Ledger) -> float:
    """Regressions to expect in this comparison if nothing had changed; each case has a policy of its own."""
    return sum(
        tally([entry.comparison], entry.policy).expected_false_alarms
        for entry in ledger
        if entry.comparison is not None
    )
