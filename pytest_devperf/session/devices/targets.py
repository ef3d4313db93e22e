"""The clock and the targets of a session, and the choice of a target for a workload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pytest_devperf.case.workload import Call, Workload
from pytest_devperf.errors import DevperfError, UsageError
from pytest_devperf.session.devices.sensors import AddedSensors
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.targets.device import HOST
from pytest_devperf.targets.protocol import Closing, IdleWatching

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.sensor.host.machine import Machine
    from pytest_devperf.simphone import SimPhone
    from pytest_devperf.targets.protocol import Clock, Target

AUTO = "auto"
SIM = "sim"


class TargetServices(Protocol):
    """The answers of plugins about clocks, targets and sensors."""

    def clock(self) -> Clock | None:
        """Return the clock that everything in this process waits and times with; None: the system's."""
        ...

    def make_target(self, spec: str) -> Target | None:
        """Return the target of a spec."""
        ...

    def sensors(self, target: Target) -> Sequence[object]:
        """Return further sensors of a device: each plugin's mapping of names to functions, unchecked."""
        ...

    def prepare_simulated(self, phone: SimPhone) -> None:
        """Prepare a simulated phone that was just switched on."""
        ...


@runtime_checkable
class Noticing(Protocol):
    """A target with notices for the user about its state."""

    @property
    def notices(self) -> Sequence[str]:
        """Leftovers that were found and undone, and requests that it could not fulfil."""
        ...

    @property
    def farewell(self) -> str | None:
        """A description of what stays on it once it is closed."""
        ...


@runtime_checkable
class Pinning(Protocol):
    """A target that can pin its clocks, and whose sensors can be read before that."""

    def pin_as_baseline(self, *, pinned: bool | None) -> None:
        """Pin the clocks only if a baseline had them pinned, unless the user decided it."""
        ...

    def glance(self) -> Context:
        """Read the sensors without any change on it."""
        ...


class SessionTargets:
    """The clock and the targets of a session; a target is opened on first use."""

    def __init__(self, spec: str, services: TargetServices, *, unit: int = 1) -> None:
        """Open nothing yet.

        Args:
            spec: The requested target.
            services: The answers of plugins about clocks, targets and sensors.
            unit: Number of the unit of a simulated phone.
        """
        self._spec = spec
        self.services = services
        self.sensors = AddedSensors(services.sensors)
        """The sensors of the devices, those of plugins included."""
        self._unit = unit
        self._machine: Machine | None = None
        self._targets: dict[str, Target] = {}
        self._ends = ExitStack()
        self._closing: list[Closing] = []
        self.notes: list[str] = []
        """Notes about targets for the session's header and last line: a phone that is not set up, leftovers undone."""
        self.remarks: list[str] = []
        """Notes for the lines above the last one."""

    @cached_property
    def clock(self) -> Clock:
        """The clock for all waits and times in this process; with a simulated phone, waiting costs no time."""
        from pytest_devperf.targets.clock import SystemClock

        answer = self.services.clock()
        if answer is not None:
            return answer
        return SystemClock() if self.simulated is None else self.simulated.clock

    @cached_property
    def simulated(self) -> SimPhone | None:
        """The simulated phone of this session, switched on; None if none was requested.

        Raises:
            DevperfError: There is no such personality or mishap, or adb is missing.
        """
        if self._spec.partition(":")[0] != SIM:
            return None
        from pytest_devperf.simphone import parse_spec, simulated_phone

        personality, mishap = parse_spec(self._spec)
        phone = self._ends.enter_context(simulated_phone(personality, mishap=mishap, unit=self._unit))
        if phone.warning is not None:
            self.note(phone.warning)
        self.services.prepare_simulated(phone)
        return phone

    def note(self, words: str) -> None:
        """Add a note to the session's header and last line, once."""
        if words not in self.notes:
            self.notes.append(words)

    def note_state(self, target: Target) -> None:
        """Add a target's notices about its state to the notes."""
        for words in target.notices if isinstance(target, Noticing) else ():
            self.note(words)

    @property
    def opened(self) -> list[Target]:
        """The targets opened so far, without duplicates."""
        return list({id(target): target for target in self._targets.values()}.values())

    def host(self) -> Target:
        """This machine."""
        return self.target(HOST)

    def target(self, spec: str) -> Target:
        """Open the target of a spec.

        Raises:
            DevperfError: No plugin provides it, or its device cannot be used.
        """
        if spec not in self._targets:
            target = self._answered(spec)
            if target is None:
                raise UsageError(
                    f"--devperf-target={spec}: no such target: use auto, host, android, android:SERIAL or sim, "
                    "or the target of a plugin"
                )
            self._targets[spec] = target
        return self._targets[spec]

    def _answered(self, spec: str) -> Target | None:
        """Get the target from plugins, ours last, and register its `close`."""
        target = self.services.make_target(spec)
        closing: object = target
        if isinstance(closing, Closing) and not any(closing is each for each in self._closing):
            self._closing.append(closing)
        if target is not None:
            self.sensors.add(target)
        return target

    def close(self) -> None:
        """Release devices, then switch simulated ones off."""
        self.release()
        self._ends.close()

    def at_end(self, act: Callable[[], object]) -> None:
        """Register a function to call when the session ends."""
        self._ends.callback(act)

    def release(self) -> None:
        """Undo the changes on devices; note a device that is gone, whose changes are undone at the next start."""
        while self._closing:
            closing = self._closing.pop()
            try:
                closing.close()
            except DevperfError as error:
                self.note(f"{error.what}: the changes on it are undone at the next start, or by devperf unpin")
            if isinstance(closing, Noticing) and closing.farewell is not None:
                self.remarks.append(closing.farewell)

    def session_target(self) -> Target:
        """The target whose sensors give the session's own context."""
        spec = self._spec
        return self.host() if spec == AUTO else self.target(spec)

    def chooser(self, case: Case) -> Callable[[Workload], Target]:
        """Return a function that chooses a case's target by the kind of its workload."""
        spec = case.target or self._spec

        def choose(workload: Workload) -> Target:
            if spec != AUTO:
                return self.target(spec)
            if isinstance(workload, Call):
                return self.host()
            return self.phone() or self.host()

        return choose

    def phone(self) -> Target | None:
        """The phone that `auto` uses for models, commands and apps; None if none is attached and set up."""
        if AUTO not in self._targets:
            self._targets[AUTO] = self._answered(AUTO) or self.host()
        target = self._targets[AUTO]
        return None if target is self.host() else target

    def look(self) -> Context:
        """Read this machine's sensors."""
        return self._sensors().look(self.clock.now_ns())

    def prerun(self, target: Target) -> Context | None:
        """Measure the load of an idle device for a moment before a pass; None if the device cannot measure it.

        Raises:
            TargetError: The device is gone.
        """
        if is_this_machine(target):
            return self._sensors().prerun(self.clock)
        return target.watch_idle() if isinstance(target, IdleWatching) else None

    def _sensors(self) -> Machine:
        if self._machine is None:
            from pytest_devperf.sensor.host.machine import Machine

            self._machine = Machine()
        return self._machine
