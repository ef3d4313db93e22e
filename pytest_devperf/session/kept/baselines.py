"""The baselines of a session: read once, before anything is measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_devperf.compare.history import NEWEST, Baseline, index
from pytest_devperf.errors import UsageError
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.options.scope import Collected, Location, Scope
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.store.file import means_a_file, read_file
from pytest_devperf.store.outlines import read_generation
from pytest_devperf.untrusted import printable

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.case.plan import Suite
    from pytest_devperf.record.record import Counting, DeviceRecord, Record, Run
    from pytest_devperf.targets.device import Device


class NoBaseline(UsageError):
    """Nothing was saved that this session could be compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Cases of one device's baseline that were not measured."""

    device: DeviceRecord
    cases: tuple[str, ...]


class Baselines:
    """The baselines of a session, by device."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        devices: Callable[[], Sequence[Device]],
        counting: Callable[[], Counting | None] = lambda: None,
    ) -> None:
        """Prepare the baselines, without reading them.

        Args:
            settings: The session's settings.
            storage: Its folder and its store.
            devices: Returns its devices.
            counting: Returns how it counts instructions; None if it cannot.
        """
        self._counting = counting
        self._settings = settings
        self._storage = storage
        self._devices = devices
        self._runs: list[Run] = []
        self._by_device: dict[str, Mapping[str, Baseline]] = {}
        self._is_read = False
        self._of_file = False
        self.lenient = False
        """Whether a device may lack a baseline: all its cases are then new."""

    def read(self) -> None:
        """Read the baseline of every device of the session.

        Raises:
            UsageError: There is none, it cannot be read, or it is of another device.
        """
        if self._settings.compare is None or self._is_read:
            return
        devices = self._devices()
        try:
            self._of_file = self._means_a_file(self._settings.compare)
            if self._of_file:
                self._read_file(self._settings.compare, devices)
            else:
                self._read_label(self._settings.compare, devices)
        except NoBaseline:
            if not self.lenient:
                raise
        self._is_read = True

    @property
    def known(self) -> bool:
        """Whether there is any baseline to compare with."""
        return any(self._by_device.values())

    @property
    def run_ids(self) -> list[str]:
        """The ids of the runs that are compared with."""
        return sorted(run.id for run in self._runs)

    def _means_a_file(self, word: str) -> bool:
        store = self._storage.store
        folder = self._storage.folder
        return means_a_file(
            word,
            folder,
            lambda: {self._settings.save, *(label_summary.label for label_summary in store.label_summaries())},
        )

    def _read_file(self, name: str, devices: Sequence[Device]) -> None:
        path = self._storage.folder / name
        document = read_file(path)
        self._runs = list(document.runs)
        for device in devices:
            self._by_device[device.fingerprint] = self._index(self._runs, device)
        own = {device.fingerprint for device in devices}
        counts_only = self._settings.counts_only
        if self._runs and not counts_only and not any(run.device.fingerprint in own for run in self._runs):
            there = ", ".join(sorted({_named(run.device) for run in self._runs}))
            here = ", ".join(f"{device.name} ({device.fingerprint})" for device in devices)
            raise NoBaseline(
                f"--devperf-compare={name} has runs of another device ({there}); this is {here}: "
                "compare with a run of this device"
            )
        if not any(self._by_device.values()):
            raise NoBaseline(f"--devperf-compare={name} has no measured case: save a run first")

    def _read_label(self, label: str, devices: Sequence[Device]) -> None:
        store = self._storage.store
        for device in devices:
            self._take(device, label)
        if self._runs or self._settings.save == label:
            return
        label_summaries = store.label_summaries()
        if not label_summaries:
            raise NoBaseline(
                f"--devperf-compare={label}: the store {store} is empty: save a run with --devperf-save={label} first"
            )
        there = "; ".join(
            f"{label_summary.label!r} of {_named(label_summary.device)}" for label_summary in label_summaries
        )
        here = ", ".join(f"{device.name} ({device.fingerprint})" for device in devices)
        raise NoBaseline(
            f"--devperf-compare={label}: no run with this label for {here}; the store {store} has {there}; "
            f"save one with --devperf-save={label}"
        )

    def of(self, case_id: str, device: Device | None = None) -> Baseline | None:
        """Return a case's baseline on a device; before its device is known, on the session's first device."""
        if device is not None:
            self._meet(device)
            return self._by_device.get(device.fingerprint, {}).get(case_id)
        return next((known[case_id] for known in self._by_device.values() if case_id in known), None)

    def _meet(self, device: Device) -> None:
        """Read the label for a device that only a case's marker names, once it is known."""
        label = self._settings.compare
        if label is None or device.fingerprint in self._by_device or self._of_file:
            return
        self._take(device, label)

    def _take(self, device: Device, label: str) -> None:
        """Read the label of a device; where no time is compared, that of every device."""
        store = self._storage.store
        fingerprints = {device.fingerprint: None}
        if self._settings.counts_only:
            fingerprints |= {each.device.fingerprint: None for each in store.label_summaries() if each.label == label}
        runs = [run for each in fingerprints for run in self._runs_of(each, label)]
        self._runs.extend(runs)
        self._by_device[device.fingerprint] = self._index(runs, device)

    def _runs_of(self, fingerprint: str, label: str) -> Sequence[Run]:
        """Read the newest generation; where no time is compared, all of it, since any run may be counted alike."""
        store = self._storage.store
        if self._settings.counts_only:
            return store.runs(fingerprint, label, newest=True)
        return read_generation(store, fingerprint, label, per_case=NEWEST)

    def _index(self, runs: Sequence[Run], device: Device) -> Mapping[str, Baseline]:
        """Find the baselines of a device; where no time is compared, the newest ones that were counted alike."""
        if not self._settings.counts_only:
            return index(runs, device.fingerprint, unit=device.unit)
        counting = self._counting()
        alike = [run for run in runs if _is_counted_alike(run, counting)]
        return index(alike or runs, device.fingerprint, unit=device.unit, any_device=True)

    def countings(self) -> list[Counting | None]:
        """Give how the instructions of each case of the baselines were counted; None for a case without any."""
        return [each.runs[0].record.counting for known in self._by_device.values() for each in known.values()]

    def hosted_iterations(self, case_id: str) -> int | None:
        """Return the iterations per round of an app's cases; one launch uses the same number for all."""
        known = (
            baseline
            for known in self._by_device.values()
            for name, baseline in known.items()
            if name.startswith(f"{case_id}[")
        )
        return next(
            (each.runs[0].record.iterations for each in known if each.runs[0].record.workload.kind == "app"), None
        )

    def pinned(self, device: Device) -> bool | None:
        """Return whether a device's clocks were pinned in its baseline; None if there is none, or it is not known."""
        known = self.pins(device)
        return any(known) if known else None

    def pins(self, device: Device) -> set[bool]:
        """Collect whether a device's clocks were pinned in its baseline, over all cases for which it is known."""
        self._meet(device)
        runs = (baseline.runs[0].record for baseline in self._by_device.get(device.fingerprint, {}).values())
        pins = (run.run_context.clock_state.pinned for run in runs)
        return {pin for pin in pins if pin is not None}

    def metrics_of(self, cases: Iterable[Case]) -> int:
        """Count the metrics that are judged together, as far as the baselines contain them."""
        from pytest_devperf.compare.compare import metrics_judged

        return metrics_judged(self.of(case.id) for case in cases)

    def missing(self, selected: Collection[str], suite: Suite, scope: Scope) -> Sequence[Missing]:
        """List the cases of each device's baseline that this command could have measured but did not select.

        Args:
            selected: Ids of the cases that were selected.
            suite: The requested suite.
            scope: The tests that the command line allows the session to collect.
        """
        found = []
        for own in self._own(suite):
            ids = tuple(
                each.case_id
                for each in own
                if each.case_id not in selected
                and scope.holds(_location(each.runs[0].record))
                and not self._left_out_by_app(each, selected)
            )
            if ids:
                found.append(Missing(device=own[0].device, cases=ids))
        return found

    def missing_in(
        self, collection: Collected, selected: Collection[str], suite: Suite, *, always: bool
    ) -> Sequence[Missing]:
        """List the cases that are missing for a gate: without those that the user excluded.

        Args:
            collection: The collected tests, and the exclusions of the user.
            selected: Ids of the selected cases.
            suite: The requested suite.
            always: Whether deselected cases count, too.
        """
        missing = self.missing(selected, suite, collection.scope)
        if not collection.narrowed or always:
            return missing
        if selected:
            vanished = ((each, tuple(case for case in each.cases if not collection.holds(case))) for each in missing)
            return [replace(each, cases=cases) for each, cases in vanished if cases]
        none_left = collection.ids.isdisjoint(case for each in missing for case in each.cases)
        return missing if none_left and not collection.only_failed else ()

    def cases(self, suite: Suite) -> set[str]:
        """Collect the ids of all cases of the baselines, on any device.

        Args:
            suite: The requested suite.
        """
        return {each.case_id for own in self._own(suite) for each in own}

    def _own(self, suite: Suite) -> Iterator[list[Baseline]]:
        """Return the cases of each device's baseline that belong to a suite."""
        for known in self._by_device.values():
            yield [
                each for each in known.values() if each.same_device and each.runs[0].record.suite in {"quick", suite}
            ]

    def _left_out_by_app(self, baseline: Baseline, selected: Collection[str]) -> bool:
        """Return whether `--devperf-only` made an app skip a case."""
        if self._settings.only is None or baseline.runs[0].record.workload.kind != "app":
            return False
        return baseline.case_id.startswith(tuple(f"{host}[" for host in selected))


def _is_counted_alike(run: Run, counting: Counting | None) -> bool:
    from pytest_devperf.compare.rule.counted import unlike_counting

    return any(unlike_counting(counting, record.counting) is None for record in run.cases)


def _location(record: Record) -> Location | None:
    """Return the location of a case's test; None if its record does not contain it."""
    if record.path is not None:
        return Location(record.path, record.test or "")
    # Runs that were saved before records contained it: the id is the node id, unless the marker sets another one.
    path, colons, names = record.id.partition("::")
    return Location(path, names) if path and colons else None


def _named(device: object) -> str:
    kind, model, fingerprint = (getattr(device, name) for name in ("kind", "model", "fingerprint"))
    return printable(f"{model or kind} ({fingerprint})")
