"""Save a run under a label."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_devperf.english import counted
from pytest_devperf.errors import DevperfError
from pytest_devperf.record.caution import refusing
from pytest_devperf.record.outline import AnyRun
from pytest_devperf.record.record import Record, Run
from pytest_devperf.report.report import Saved
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.store.generation import save_run
from pytest_devperf.store.outlines import newest_outlines

if TYPE_CHECKING:
    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.store.store import Store


class Saving:
    """Saves runs under the label of a session."""

    def __init__(self, settings: Settings, storage: Storage, label: str) -> None:
        self._settings = settings
        self._storage = storage
        self._label = label

    def save(self, run: Run, baselines: Mapping[str, Baseline | None]) -> Iterator[Saved | str]:
        """Save a run.

        Args:
            run: The run of one device.
            baselines: The baselines of its cases, by id.

        Yields:
            The saved run, and sentences about what was not saved.
        """
        store, label = self._storage.store, self._label
        cases, held_back = self._worth_saving(run, baselines)
        if not any(record.outcome == "passed" for record in cases):
            yield f"NOT SAVED as {label}: no case passed"
            return
        kept = msgspec.structs.replace(run, label=label, cases=cases)
        if self._is_saved(store, kept):
            path = str(store)
        else:
            yield from self._left_behind(store, kept)
            path = _as_typed(save_run(store, kept, append=self._settings.append), self._storage.folder)
        refusals = {
            slug
            for record in cases
            for slug in refusing(
                record.cautions,
                kind=run.device.kind,
                strict_context=self._settings.strict_context,
                accept=self._settings.accept,
            )
        }
        yield Saved(label=label, path=path, refusals=tuple(sorted(refusals)), held_back=tuple(held_back))

    def _is_saved(self, store: Store, kept: Run) -> bool:
        """Return whether a resumed session had saved its run before it was killed."""
        if not self._settings.resume:
            return False
        with suppress(DevperfError):  # a damaged run is replaced
            return any(run.id == kept.id for run in self._generation(store, kept))
        return False

    def _generation(self, store: Store, kept: Run) -> Iterator[AnyRun]:
        """Read the newest generation of the label, without its samples."""
        return newest_outlines(store, kept.device.fingerprint, self._label)

    def _left_behind(self, store: Store, kept: Run) -> Iterator[str]:
        """Report the cases of the old generation that are missing from the new one: they will be new next time."""
        if self._settings.append:
            return
        with suppress(DevperfError):  # a damaged baseline is replaced; its cases cannot be read
            old = {record.id for run in self._generation(store, kept) for record in run.cases}
            left = sorted(old - {record.id for record in kept.cases})
            if left:
                yield (
                    f"{counted(len(left), 'earlier case')} of {self._label} not in this run, so NEW in the next "
                    f"comparison ({left[0]}{', ...' if len(left) > 1 else ''}): save all cases together, or add "
                    "these with --devperf-append"
                )

    def _worth_saving(self, run: Run, baselines: Mapping[str, Baseline | None]) -> tuple[tuple[Record, ...], list[str]]:
        """Keep the old baseline of cases that regressed or failed; comparisons are not saved.

        A run that joins a generation omits these cases: their old baseline is already part of it.
        """
        cases = []
        held_back = []
        for record in run.cases:
            regressed = record.comparison is not None and record.comparison.verdict == "regressed"
            old = baselines.get(record.id)
            unfit = record.outcome in {"failed", "error"} or (regressed and not self._settings.save_regressed)
            if old is None or not unfit:
                cases.append(record)
            else:
                held_back += [record.id] if regressed else []
                cases += [] if self._settings.append else [old.runs[0].record]
        return tuple(cases), held_back


def _as_typed(path: str, folder: Path) -> str:
    """Spell a path as the user would type it in a folder; a URL stays as it is."""
    if "://" in path:
        return path
    try:
        return min(os.path.relpath(path, folder), path, key=len)
    except ValueError:  # on another drive
        return path
