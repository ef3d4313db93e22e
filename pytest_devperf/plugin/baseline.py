"""The baselines of a session: read once, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.compare.history import Baseline, index
from pytest_devperf.compare.policy import Policy
from pytest_devperf.errors import DevperfError
from pytest_devperf.plugin.chosen import Options
from pytest_devperf.store.file import means_a_file, read_file

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.plugin.ledger import Ledger
    from pytest_devperf.plugin.place import Places
    from pytest_devperf.record.record import Run
    from pytest_devperf.store.store import Store
    from pytest_devperf.target.device import Device


def store_of(config: pytest.Config, options: Options) -> Store:
    """Open the session's store.

    Raises:
        pytest.UsageError: It cannot be one.
    """
    from pytest_devperf.store.open import open_store

    spec = options.store
    try:
        answer: Store | None = (
            config.hook.pytest_devperf_make_store(config=config, spec=spec) if spec is not None else None
        )
        return answer or open_store(spec, config.rootpath)
    except DevperfError as error:
        raise pytest.UsageError(str(error)) from None


class Baselines:
    """What cases are compared with, by device."""

    def __init__(
        self, config: pytest.Config, options: Options, places: Places, *, devices: Sequence[Device] | None = None
    ) -> None:
        """Read nothing yet.

        Args:
            config: pytest's configuration.
            options: The session's options.
            places: The session's targets.
            devices: Its devices; None: those of its targets.
        """
        self._config = config
        self._options = options
        self._places = places
        self._runs: list[Run] = []
        self._by_device: dict[str, Mapping[str, Baseline]] = {}
        self._is_read = False
        self._of_file = False
        self._named_devices = devices
        self.lenient = False
        """Whether a device without any baseline is fine: all its cases are new."""

    def read(self) -> None:
        """Read the baseline of every device of the session.

        Raises:
            pytest.UsageError: There is none, it cannot be read, or it is another device's.
        """
        if self._options.compare is None or self._is_read:
            return
        devices = self._devices()
        try:
            self._of_file = self._means_a_file(self._options.compare)
            if self._of_file:
                self._read_file(self._options.compare, devices)
            else:
                self._read_label(self._options.compare, devices)
        except DevperfError as error:
            raise pytest.UsageError(str(error)) from None
        except pytest.UsageError:
            if not self.lenient:
                raise
        self._is_read = True

    @property
    def known(self) -> bool:
        """Whether there is any baseline to compare with."""
        return any(self._by_device.values())

    def _devices(self) -> list[Device]:
        """Devices of the session; one that `auto` may turn out to use is among them."""
        if self._named_devices is not None:
            return list(self._named_devices)
        target = self._places.session_target()
        phone = self._places.phone() if self._options.target == "auto" else None
        return [place.device for place in (target, phone) if place is not None]

    def _means_a_file(self, word: str) -> bool:
        store = store_of(self._config, self._options)
        folder = Path(self._config.invocation_params.dir)
        return means_a_file(word, folder, lambda: {self._options.save, *(shelf.label for shelf in store.shelves())})

    def _read_file(self, name: str, devices: list[Device]) -> None:
        path = Path(self._config.invocation_params.dir) / name
        document = read_file(path)
        self._runs = list(document.runs)
        for device in devices:
            self._by_device[device.fingerprint] = index(self._runs, device.fingerprint)
        own = {device.fingerprint for device in devices}
        if self._runs and not any(run.device.fingerprint in own for run in self._runs):
            there = ", ".join(sorted({_named(run.device) for run in self._runs}))
            here = ", ".join(f"{device.name} ({device.fingerprint})" for device in devices)
            raise pytest.UsageError(
                f"--devperf-compare={name} holds runs of another device ({there}); this is {here}: "
                "compare with a run of this device"
            )
        if not any(self._by_device.values()):
            raise pytest.UsageError(f"--devperf-compare={name} holds no measured case: save a run first")

    def _read_label(self, label: str, devices: list[Device]) -> None:
        store = store_of(self._config, self._options)
        for device in devices:
            runs = list(store.runs(device.fingerprint, label, newest=True))
            self._runs.extend(runs)
            self._by_device[device.fingerprint] = index(runs, device.fingerprint)
        if self._runs or self._options.save == label:
            return
        shelves = store.shelves()
        if not shelves:
            raise pytest.UsageError(
                f"--devperf-compare={label}: the store {store} holds no run; save one with --devperf-save={label}"
            )
        there = "; ".join(f"{shelf.label!r} of {_named(shelf.device)}" for shelf in shelves)
        here = ", ".join(f"{device.name} ({device.fingerprint})" for device in devices)
        raise pytest.UsageError(
            f"--devperf-compare={label}: no run under that label for {here}; the store {store} holds {there}; "
            f"save one with --devperf-save={label}"
        )

    def of(self, case_id: str, device: Device | None = None) -> Baseline | None:
        """Find a case's baseline on a device; before its device is known, on the session's first."""
        if device is not None:
            self._meet(device)
            return self._by_device.get(device.fingerprint, {}).get(case_id)
        return next((known[case_id] for known in self._by_device.values() if case_id in known), None)

    def _meet(self, device: Device) -> None:
        """Read the label of a device that only a case's marker names, once it is met."""
        label = self._options.compare
        if label is None or device.fingerprint in self._by_device or self._of_file:
            return
        runs = list(store_of(self._config, self._options).runs(device.fingerprint, label, newest=True))
        self._runs.extend(runs)
        self._by_device[device.fingerprint] = index(runs, device.fingerprint)

    def hosted_iterations(self, case_id: str) -> int | None:
        """Find the iterations per round of an app's cases; one launch gives all of them the same."""
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
        """Tell whether a device's clocks were held in its baseline; None where there is none or nobody knows."""
        self._meet(device)
        runs = (baseline.runs[0].record for baseline in self._by_device.get(device.fingerprint, {}).values())
        known = {run.run_context.clock_state.pinned for run in runs} - {None}
        return any(known) if known else None

    def policy(self, case: Case) -> Policy:
        """What a case's comparison is strict about: command line, then marker, then ini file."""
        options = self._options
        named = dict(options.tolerance)
        tolerance = {**case.tolerance, **named} if options.tolerance_cli else {**named, **case.tolerance}
        return Policy(
            tolerance=tolerance,
            rule="iqr" if options.rule == "iqr" else "proven",
            iqr="pooled" if options.iqr == "pooled" else "within",
            confirm=not options.no_confirm,
            anchor=not options.no_anchor,
            accept=options.accept,
            strict_context=options.strict_context,
            hot_start_c=options.hot_start_c,
        )

    def missing(self, ledger: Ledger, session: pytest.Session) -> Mapping[str, tuple[str, ...]]:
        """Name the cases of each baseline that were not selected, by device.

        Only what this command could have measured counts: cases of the suite asked for, below the paths given.
        """
        selected = {entry.case.id for entry in ledger}
        suites = {"quick", "full"} if "full" in self._suites(ledger) else {"quick"}
        scope = _scope(session)
        return {
            fingerprint: tuple(
                case_id
                for case_id, baseline in known.items()
                if case_id not in selected
                and not (self._options.only and case_id.startswith(tuple(f"{host}[" for host in selected)))
                and baseline.runs[0].record.suite in suites
                and (scope is None or case_id.startswith(scope))
            )
            for fingerprint, known in self._by_device.items()
        }

    def _suites(self, ledger: Ledger) -> set[str]:
        return {entry.case.plan.suite for entry in ledger}


def _scope(session: pytest.Session) -> tuple[str, ...] | None:
    """Node id prefixes that the command line narrows the session to; None where it takes everything."""
    from _pytest.config import Config

    config: Config = session.config
    if config.args_source is not Config.ArgsSource.ARGS:
        return None
    prefixes = []
    for arg in config.args:
        path = Path(config.invocation_params.dir, str(arg).partition("::")[0])
        try:
            relative = path.resolve().relative_to(config.rootpath).as_posix()
        except ValueError:
            return None
        if relative == ".":
            return None
        node = str(arg).partition("::")[2]
        prefixes.append(f"{relative}::{node}" if node else relative)
    return tuple(prefixes)


def _named(device: object) -> str:
    kind, model, fingerprint = (getattr(device, name) for name in ("kind", "model", "fingerprint"))
    return f"{model or kind} ({fingerprint})"
