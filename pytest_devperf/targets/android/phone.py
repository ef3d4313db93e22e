"""An Android phone as a target: who it is, how it is, and what runs on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.case.workload import App, Command, Model, Workload
from pytest_devperf.errors import TargetError, Unsupported, UsageError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.android.affinity import format_mask
from pytest_devperf.targets.android.command import start_command
from pytest_devperf.targets.android.file_store import ROOT, STORE_DAYS, Kept, prune
from pytest_devperf.targets.android.gear import Gear
from pytest_devperf.targets.android.hold import Hold
from pytest_devperf.targets.android.identity import Identity, clusters, read_identity
from pytest_devperf.targets.android.journal import Journal
from pytest_devperf.targets.android.link import Link, best_effort
from pytest_devperf.targets.android.look import IDLE, SCRIPT, Seen
from pytest_devperf.targets.android.model import start_model, survey
from pytest_devperf.targets.android.native_feed import is_native, survey_native, tool_of
from pytest_devperf.targets.android.native_model import start_native
from pytest_devperf.targets.android.sensors import PhoneSensors
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.cpus import parse_cpus
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.protocol import Clock, Runner
from pytest_devperf.targets.survey import Survey

if TYPE_CHECKING:
    from pytest_devperf.targets.app.wire import CaseReport, Task

POLICY_FOLDER = "/sys/devices/system/cpu/cpufreq"


class AndroidTarget:
    """A phone behind an adb server.

    Nothing on it is changed before it is first looked at or used: then leftovers of a crashed session are
    undone, the screen is kept on, and its clocks are held if that was asked for. `close` undoes it all; so do
    the end of the process, SIGTERM and SIGHUP.
    """

    def __init__(  # noqa: PLR0913 - a phone, and what the session's options say of it
        self,
        *,
        serial: str,
        server_port: int | None = None,
        clock: Clock | None = None,
        identity: str = "unit",
        pin_clocks: str = "off",
        affinity: str | None = None,
        runner: Path | None = None,
        library: Path | None = None,
    ) -> None:
        """Connect and ask the phone who it is.

        Args:
            serial: What adb calls it.
            server_port: Port of the adb server; None: the usual one.
            clock: The session's clock; None: this machine's.
            identity: `unit` or `model`: whether another unit of the same model is another device.
            pin_clocks: `off`, `auto` (hold the clocks if the phone can) or `on` (refuse to measure unless it can).
            affinity: CPUs workloads run on: `big`, `little`, `4-7`; None: left to the phone.
            runner: ONNX runner to use instead of the one that was set up.
            library: Likewise the runtime library.

        Raises:
            TargetError: The phone went away.
            UsageError: It lacks the CPUs that were named.
        """
        self._clock: Clock = clock or SystemClock()
        self._link = Link(serial=serial, server_port=server_port)
        self._identity: Identity = read_identity(self._link, unit=identity == "unit")
        self.device: Device = self._identity.device
        self._link.name = self.device.name
        self._pin_clocks = pin_clocks
        self._cpus = self._bound(affinity)
        self._prefix = "" if self._cpus is None else f"taskset {format_mask(self._cpus)}"
        self.gear = Gear(self._link, self.device, runner=runner, library=library)
        """What is set up for it to run models with."""
        self._sensors = PhoneSensors(self._link, self._cpus)
        self._hold = Hold(self._link, self._clock, Journal(self._link, self._journal_name()), self._sensors.see)
        self._open = False
        self._env: dict[str, str | None] = {"os": self._identity.os, "driver": None, "ep": None, "sdk": None}
        if affinity is not None:
            self._env["affinity"] = affinity
        self.kept: Kept | None = None
        """What stays in its store of pushed files; known once it is closed."""

    # -- what a session asks for -----------------------------------------------------------------

    @property
    def emulator(self) -> bool:
        """Whether it is an emulator."""
        return self._identity.emulator

    @property
    def debuggable(self) -> bool:
        """Whether its system is a debug build."""
        return self._identity.debuggable

    @property
    def swept(self) -> tuple[str, ...]:
        """What an earlier session had left on it and was undone, in words."""
        return self._hold.swept

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user has to know of its state: leftovers that were undone, and what could not be done."""
        swept = f"{self.device.name}: an earlier session had left {' and '.join(self.swept)}; undone"
        whys = (self._hold.why_not_pinned, self._hold.why_not_awake, self._hold.why_litter)
        return ((swept,) if self.swept else ()) + tuple(why for why in whys if why is not None)

    @property
    def farewell(self) -> str | None:
        """What stays on it on purpose, in words; None until it is closed, and if nothing stays."""
        if self.kept is None or not self.kept.files:
            return None
        return (
            f"{self.device.name} keeps {self.kept.words} for {STORE_DAYS} days, so that they are not sent again; "
            "devperf unpin removes them"
        )

    @property
    def link(self) -> Link:
        """The link to it, for what needs more than a target offers (apps, the collector)."""
        return self._link

    def pin_as_baseline(self, *, pinned: bool | None) -> None:
        """Under `pin_clocks="auto"`, hold the clocks iff a baseline had them held; before the phone is opened.

        Args:
            pinned: Whether they were held in the baseline; None: there is none, or nobody knows.
        """
        if self._pin_clocks == "auto" and pinned is False:
            self._pin_clocks = "off"

    def glance(self) -> Context:
        """Read the sensors without changing anything on it."""
        return self._read(SCRIPT)

    def open(self) -> None:
        """Claim it, undo leftovers, keep the screen on, hold the clocks; called again it does nothing.

        Raises:
            UsageError: Its clocks must be held and cannot be, another session measures on it, or what was left on it
                cannot be undone.
            TargetError: It went away.
        """
        if self._open:
            return
        self._hold.take(pin_clocks=self._pin_clocks != "off")
        self._open = True
        if self._pin_clocks == "on" and not self._hold.pinned:
            words = self._hold.why_not_pinned
            self.close()
            raise UsageError(
                words or f"{self.device.name} does not hold its clocks", "measure with --devperf-pin-clocks=auto or off"
            )
        self._sensors.begin()

    def close(self) -> None:
        """Undo what was changed on it; called again it does nothing.

        Raises:
            TargetError: It went away, or still shows a change; the next session undoes it.
        """
        if self._open and not self._hold.broken:
            with best_effort():
                self.kept = prune(self._link)
        self._open = False
        self._hold.release()

    def restore(self) -> str:
        """Undo what any session left changed on it, and remove our folder.

        Returns:
            What was undone, in words.

        Raises:
            UsageError: Another session measures on it.
            TargetError: It went away, or still shows a change.
        """
        self.close()
        words = self._hold.force()
        removed = self._link.script(f"rm -rf {ROOT}", doing="removing our folder")
        if removed.returncode != 0:
            said = " ".join((removed.error_output or removed.output).split())[-120:]
            raise TargetError(f"{self.device.name} keeps {ROOT} ({said})", "restart it, and run again")
        return words

    def look(self) -> Context:
        """Read the sensors, in one round trip."""
        self.open()
        return self._read(SCRIPT)

    def watch_idle(self) -> Context:
        """Read the sensors after a moment in which the phone is left alone; `cpu_pct` is what it used then."""
        self.open()
        return self._read(IDLE)

    def see(self) -> Seen:
        """Read the sensors and keep each one's own reading.

        Raises:
            TargetError: It went away, or its answer was cut off twice.
        """
        return self._sensors.see()

    def start(self, workload: Workload, process: int) -> AbstractContextManager[Runner]:
        """Bring the workload up in a new process on the phone, hand out its runner, take it down.

        Raises:
            Unsupported: A Python call or an app, or no runner is set up for this phone.
            CaseError: The workload is wrong.
            TargetError: The phone went away.
        """
        if isinstance(workload, Model) and is_native(workload):
            self._claim()
            tool = self.gear.tool(tool_of(workload))
            return start_native(
                workload,
                self._link,
                tool,
                runner=self.gear.anchor_runner(),
                prefix=self._prefix,
                policies=self._sensors.policies,
                surround=self._sensors.surround,
            )
        if isinstance(workload, Model):
            setup = self.gear.setup()
            self._claim()
            self.gear.learn(setup)
            return start_model(
                workload,
                self._link,
                setup,
                watch={policy: f"{POLICY_FOLDER}/{policy}/scaling_max_freq" for policy in self._sensors.policies},
                surround=self._sensors.surround,
                prefix=self._prefix,
            )
        if isinstance(workload, Command):
            self._claim()
            return start_command(
                workload,
                process,
                self._link,
                runner=self.gear.anchor_runner(),
                prefix=self._prefix,
                policies=self._sensors.policies,
                surround=self._sensors.surround,
            )
        kind = "a Python call runs on the host alone" if not isinstance(workload, App) else "an app hosts its own cases"
        raise Unsupported(f"{kind}, not on {self.device.name}", "measure it with --devperf-target=host")

    def host(self, app: App, task: Task, *, build: bool, tell: Callable[[str], None]) -> Iterator[CaseReport]:
        """Start an app that hosts its own cases, give each case's report as it comes, end the app.

        Args:
            app: The app.
            task: What it is asked to do.
            build: Whether its `build` command runs first.
            tell: Shows a sentence to the user.

        Raises:
            Unsupported: It is an app of another kind of phone.
            CaseError: It is not there, or ended without a case that must come.
            TargetError: The phone went away, or the app fell silent.
        """
        from pytest_devperf.targets.android.app import host_app

        if app.platform not in {None, "android"}:
            raise Unsupported(f"{app.id} is an app for {app.platform}, and {self.device.name} is an Android phone")
        self._claim()
        return host_app(app, task, self._link, build=build, tell=tell)

    def survey(self, workload: Model) -> Survey:
        """Read the model's own schema; the phone is asked only which options a native tool takes, and once.

        Raises:
            Unsupported: No tool for this kind of file is set up.
            CaseError: The model, an option or an input is wrong.
        """
        if is_native(workload):
            return survey_native(workload, self.gear.tool(tool_of(workload)))
        return survey(workload)

    # -- below -----------------------------------------------------------------------------------

    def _read(self, script: str) -> Context:
        """Read the sensors; before the phone is opened nobody knows whether its clocks are held."""
        seen = self._sensors.see(script)
        context = self._sensors.describe(
            seen,
            at_ns=self._clock.now_ns(),
            pinned=self._hold.holds(seen.clocks) if self._open else None,
            anchor=self.gear.anchor,
            env=dict(self._env),
        )
        whys = (self._hold.why_not_pinned, self._hold.why_not_awake)
        return replace(context, notes=(*context.notes, *(why for why in whys if why is not None)))

    def _claim(self) -> None:
        """Open it before something runs there; after a dropped link claim it anew."""
        self.open()
        self._hold.renew()

    def _journal_name(self) -> str | None:
        """Name this machine's copy of its journal; None for a simulated phone, which is gone with its session."""
        return None if self.device.kind == "sim" else self.device.unit

    def _bound(self, affinity: str | None) -> tuple[int, ...] | None:
        if affinity is None:
            return None
        return parse_cpus(affinity, clusters(self._identity), self.device.cores)
