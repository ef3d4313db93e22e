"""Go on with a session that did not finish: find its devices, and hand out what its starts found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_devperf.errors import DevperfError, TargetError
from pytest_devperf.session.cases.case_state import CaseState, CaseStates, Problem
from pytest_devperf.session.cases.edge import Reporter
from pytest_devperf.session.cases.found import StartFound
from pytest_devperf.session.devices.targets import AUTO, SessionTargets
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.log.entries import FirstEntry, LaterEntry, looks_of
from pytest_devperf.session.log.recorder import SessionLog, cannot_resume
from pytest_devperf.session.readiness import pin_as_baseline
from pytest_devperf.session.starts.device import is_phone
from pytest_devperf.session.starts.meters.app import AppLaunch
from pytest_devperf.session.starts.start import CaseStart, Role

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.device import Device
    from pytest_devperf.targets.protocol import Target

STATE: Mapping[str, str] = {
    "pinned": "whether its clocks are held",
    "cpu_set": "the set of its CPUs",
    "power_state": "its power supply",
    "anchor": "the anchor kernel",
}
"""Readings that must not differ within a run, with words for them."""


@dataclass(slots=True, kw_only=True)
class Resumption:
    """Writes what the starts of a session found into its log, and gives what an earlier session wrote."""

    log: SessionLog
    _devices: dict[str, Target] = field(default_factory=dict)
    """The devices that were measured on, by fingerprint."""

    def find_devices(self, states: CaseStates, targets: SessionTargets, spec: str, baselines: Baselines) -> None:
        """Find the devices that the resumed session was measured on, and take up its entries.

        Args:
            states: The cases.
            targets: The devices of this session.
            spec: The target that was asked for.
            baselines: How the clocks of phones were held.

        Raises:
            DevperfError: A device is not there, or is in another state.
        """
        if self.log.resumed is None:
            return
        specs = {state.case.id: state.case.target or spec for state in states}
        for entry in self.log.firsts:
            device = entry.start.device
            if device is not None and device.fingerprint not in self._devices:
                self._devices[device.fingerprint] = self._find_device(device, targets, specs[entry.case], baselines)
        self.log.load(targets.clock.now_ns())

    def _find_device(self, device: Device, targets: SessionTargets, spec: str, baselines: Baselines) -> Target:
        assert self.log.resumed is not None
        candidates = list(_candidates(targets, spec))
        target = next((each for each in candidates if each.device.fingerprint == device.fingerprint), None)
        if target is None:
            here = ", ".join(_named(each.device) for each in candidates)
            raise cannot_resume(self.log.resumed, f"it was measured on {_named(device)}, and this is {here}")
        if is_phone(target):
            pin_as_baseline(target, baselines)
        change = _change(self._last_look(device), targets.sensors.look(target))
        if change is not None:
            raise cannot_resume(self.log.resumed, f"{device.name} is in another state: {change}")
        return target

    def _last_look(self, device: Device) -> Context | None:
        """Return the last reading of a device in the log."""
        assert self.log.resumed is not None
        own = {
            entry.case
            for entry in self.log.firsts
            if entry.start.device is not None and entry.start.device.fingerprint == device.fingerprint
        }
        looks = (
            look
            for entry in reversed(self.log.resumed.entries)
            if entry.case in own
            for look in reversed(looks_of(entry))
        )
        return next(looks, None)

    # -- what an earlier session measured -----------------------------------------------------------

    def take_first(self, state: CaseState) -> FirstEntry | None:
        """Give start 1 of a case, if an earlier session measured it."""
        entry = self.log.next_of(state.case.id)
        return entry if isinstance(entry, FirstEntry) else None

    def take_later(self, state: CaseState) -> Iterator[StartFound]:
        """Give the later starts of a case that an earlier session measured."""
        while isinstance(entry := self.log.next_of(state.case.id), LaterEntry):
            state.retake_wait_s = entry.retake_wait_s
            problem = entry.problem
            yield StartFound(
                state=state,
                process=entry.process,
                role=_role_of(entry),
                result=entry.result,
                problem=DevperfError(problem.what, problem.next_step) if problem is not None else None,
                prerun=entry.prerun,
                old=entry.old,
                pair=entry.pair,
            )

    def target_of(self, start: CaseStart) -> Target | None:
        """Return the device that a start was measured on."""
        return self._devices[start.device.fingerprint] if start.device is not None else None

    # -- what this session measures -----------------------------------------------------------------

    def write_first(self, state: CaseState, start: CaseStart, launch: AppLaunch | None, reporter: Reporter) -> None:
        """Write what start 1 of a case found."""
        self.log.add(
            FirstEntry(
                case=state.case.id,
                start=start,
                reports=list(reporter.write_first(state)),
                app=launch.app if launch is not None else None,
                app_reports=launch.reports if launch is not None else [],
                retake_wait_s=state.retake_wait_s,
            )
        )

    def write_later(self, found: StartFound) -> None:
        """Write what a later start of a case found, unless its device went away: then it is measured again."""
        problem = found.problem
        if isinstance(problem, TargetError):
            self.log.lost_device = True
            return
        self.log.add(
            LaterEntry(
                case=found.state.case.id,
                process=found.process,
                result=found.result,
                problem=Problem(problem.what, problem.next_step) if problem is not None else None,
                prerun=found.prerun,
                old=found.old,
                pair=found.pair,
                retake_wait_s=found.state.retake_wait_s,
            )
        )


def _role_of(entry: LaterEntry) -> Role:
    """Return the purpose of a start; one without a result is not called by it."""
    found = entry.result.start if entry.result is not None else None
    return "rounds" if found is None else found.role


def _candidates(targets: SessionTargets, spec: str) -> Iterator[Target]:
    if spec != AUTO:
        yield targets.target(spec)
        return
    yield targets.host()
    phone = targets.phone()
    if phone is not None:
        yield phone


def _change(before: Context | None, now: Context) -> str | None:
    """Describe how a device's state differs from the last reading; None if it does not, as far as is known."""
    for name, words in STATE.items():
        old, new = getattr(before, name, None), getattr(now, name)
        if old is not None and new is not None and old != new:
            return f"{words} was {_spelled(old)} and is {_spelled(new)}"
    return None


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(getattr(value, "words", value))


def _named(device: Device) -> str:
    return f"{device.name} ({device.fingerprint})"
