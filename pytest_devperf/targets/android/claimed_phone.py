"""A phone that a session claims: its identity, its sensors, and the changes made and undone on it."""

from __future__ import annotations

from dataclasses import replace

from pytest_devperf.errors import TargetError, UsageError
from pytest_devperf.sensor.added import output_of
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.adb.loss import best_effort
from pytest_devperf.targets.android.options import PhoneOptions
from pytest_devperf.targets.android.phone.file_store import ROOT, STORE_DAYS, Kept, prune
from pytest_devperf.targets.android.phone.hold import Hold
from pytest_devperf.targets.android.phone.identity import Identity, clusters, read_identity
from pytest_devperf.targets.android.phone.reading import IDLE, SCRIPT, PhoneReading
from pytest_devperf.targets.android.phone.sensors import PhoneSensors
from pytest_devperf.targets.android.phone.undo_journal import UndoJournal
from pytest_devperf.targets.android.toolchain import Toolchain
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.cpus import format_mask, parse_cpus
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.protocol import Clock


class ClaimedPhone:
    """A phone behind an adb server, which a session claims, reads and releases.

    Nothing on it is changed before it is first read or used. Then leftovers of a crashed session are undone, the screen
    is kept on, and its clocks are pinned if requested. `close` undoes everything; so do the end of the process, SIGTERM
    and SIGHUP.
    """

    def __init__(
        self,
        *,
        serial: str,
        server_port: int | None = None,
        clock: Clock | None = None,
        options: PhoneOptions | None = None,
    ) -> None:
        """Connect to the phone and read its identity.

        Args:
            serial: Serial number.
            server_port: Port of the adb server; None: the default.
            clock: The session's clock; None: this machine's.
            options: The session's options; None: the defaults.

        Raises:
            TargetError: The phone is gone.
            UsageError: It lacks the CPUs of `affinity`.
        """
        options = options or PhoneOptions()
        self._clock: Clock = clock or SystemClock()
        self._link = Link(serial=serial, server_port=server_port)
        self._identity: Identity = read_identity(self._link, unit=options.identity == "unit")
        self.device: Device = self._identity.device
        self._link.name = self.device.name
        self._pin_clocks = options.pin_clocks
        self._cpus = self._bound(options.affinity)
        self._prefix = "" if self._cpus is None else f"taskset {format_mask(self._cpus)}"
        self.toolchain = Toolchain(self._link, self.device, runner=options.runner, library=options.library)
        """The programs that are set up to run models on it."""
        self._sensors = PhoneSensors(self._link, self._cpus)
        journal = UndoJournal(self._link, self._journal_name())
        self._hold = Hold(self._link, self._clock, journal, self._sensors.read_sensors)
        self._open = False
        self._env: dict[str, str | None] = {"os": self._identity.os, "driver": None, "ep": None, "sdk": None}
        if options.affinity is not None:
            self._env["affinity"] = options.affinity
        self.kept: Kept | None = None
        """The pushed files that stay on it; known once it is closed."""

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
        """Leftovers of an earlier session that this one undid, in words."""
        return self._hold.swept

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices for the user about its state: leftovers that were undone, and failures."""
        swept = f"{self.device.name}: an earlier session had left {' and '.join(self.swept)}; undone"
        whys = (self._hold.why_not_pinned, self._hold.why_not_awake, self._hold.why_litter)
        return ((swept,) if self.swept else ()) + tuple(why for why in whys if why is not None)

    @property
    def farewell(self) -> str | None:
        """The files that stay on it on purpose, in words; None until it is closed, and if none stay."""
        if self.kept is None or not self.kept.files:
            return None
        return (
            f"{self.device.name} keeps {self.kept.words} for {STORE_DAYS} days, so that nothing is sent twice; "
            "devperf unpin deletes what is kept"
        )

    @property
    def link(self) -> Link:
        """The link to it, for uses beyond a target (apps, the collector)."""
        return self._link

    def pin_as_baseline(self, *, pinned: bool | None) -> None:
        """Under `pin_clocks="auto"`, pin the clocks only if a baseline had them pinned; call it before `open`.

        Args:
            pinned: Whether the clocks were pinned in the baseline; None: there is none, or it is not known.
        """
        if self._pin_clocks == "auto" and pinned is False:
            self._pin_clocks = "off"

    def glance(self, *, idle: bool = False) -> Context:
        """Read the sensors without any change on it.

        Args:
            idle: Whether to leave it alone for a moment first, so that `cpu_pct` is its own load.
        """
        return self._read(IDLE if idle else SCRIPT)

    def leftover(self) -> str | None:
        """Describe what another session changed on it and has not undone, without changing it; None if nothing.

        Raises:
            TargetError: It is gone.
        """
        return self._hold.leftover()

    def holds_clocks(self) -> bool:
        """Return whether any session has pinned its clocks and not undone that.

        Raises:
            TargetError: It is gone.
        """
        changes = self._hold.changes()
        return changes is not None and changes.pinned

    def open(self) -> None:
        """Claim it, undo leftovers, keep the screen on, pin the clocks; do nothing if that is done.

        Raises:
            UsageError: Its clocks must be pinned and cannot be, another session measures on it, or leftovers cannot be
                undone.
            TargetError: It is gone.
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
        """Undo all changes on it; do nothing if there are none.

        Raises:
            TargetError: It is gone, or still shows a change; the next session undoes that.
        """
        if self._open and not self._hold.broken:
            with best_effort():
                self.kept = prune(self._link)
        self._open = False
        self._hold.release()

    def restore(self) -> str:
        """Undo the changes of any session, and remove our folder.

        Returns:
            The changes that were undone, in words.

        Raises:
            UsageError: Another session measures on it.
            TargetError: It is gone, or still shows a change.
        """
        self.close()
        words = self._hold.force()
        removed = self._link.script(f"rm -rf {ROOT}", doing="removing our folder")
        if removed.returncode != 0:
            printed = " ".join((removed.error_output or removed.output).split())[-120:]
            raise TargetError(f"{self.device.name} keeps {ROOT} ({printed})", "restart it, and run again")
        return words

    def look(self) -> Context:
        """Read the sensors in one round trip."""
        self.open()
        return self._read(SCRIPT)

    def shell(self, command: str) -> str:
        """Run a sensor's command on the phone and return its output.

        Raises:
            TargetError: The command failed, or the phone is gone.
        """
        done = self._link.script(command, doing="reading a sensor of a plugin")
        return output_of(command, done.returncode, done.output, done.error_output)

    def watch_idle(self) -> Context:
        """Read the sensors after a moment without any work; `cpu_pct` is the phone's load in that moment."""
        self.open()
        return self._read(IDLE)

    def read_sensors(self) -> PhoneReading:
        """Read the sensors and keep each sensor's own reading.

        Raises:
            TargetError: It is gone, or its answer was cut off twice.
        """
        return self._sensors.read_sensors()

    def claim(self) -> None:
        """Open it before something runs on it; claim it again after a dropped link."""
        self.open()
        self._hold.renew()

    # -- below -----------------------------------------------------------------------------------

    def _read(self, script: str) -> Context:
        """Read the sensors; whether the clocks are pinned is only known after the phone was opened."""
        seen = self._sensors.read_sensors(script)
        context = self._sensors.describe(seen, at_ns=self._clock.now_ns())
        whys = (self._hold.why_not_pinned, self._hold.why_not_awake)
        return replace(
            context,
            pinned=self._hold.holds(seen.clocks) if self._open else None,
            anchor=self.toolchain.anchor,
            env=dict(self._env),
            notes=(*context.notes, *(why for why in whys if why is not None)),
        )

    def _journal_name(self) -> str | None:
        """Name this machine's copy of its journal; None for a simulated phone, which ends with its session."""
        return None if self.device.kind == "sim" else self.device.unit

    def _bound(self, affinity: str | None) -> tuple[int, ...] | None:
        if affinity is None:
            return None
        return parse_cpus(affinity, clusters(self._identity), self.device.cores)
