"""A simulated phone behind a genuine adb server, for tests and the target `sim`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, final

from pytest_devperf.errors import TargetError, UsageError
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.simphone.adb.server import AdbServer
from pytest_devperf.simphone.adb.services import Services
from pytest_devperf.simphone.android.commands import COMMANDS
from pytest_devperf.simphone.isolation.isolated import IsolatedSandbox
from pytest_devperf.simphone.isolation.sandbox import Sandbox
from pytest_devperf.simphone.isolation.system import NotIsolatedError
from pytest_devperf.simphone.isolation.translated import TranslatedSandbox
from pytest_devperf.simphone.state.family import personality_named
from pytest_devperf.simphone.state.mishap import NONE, mishap_named
from pytest_devperf.simphone.state.personality import Personality
from pytest_devperf.simphone.state.physics import State
from pytest_devperf.simphone.state.simulation import Simulation

START_S = 60.0
"""Longest wait for the daemon's thread: it takes a few milliseconds, but a busy machine lets threads wait."""


@final
class SimPhone:
    """A simulated phone that is switched on: it listens, and its state can be read and changed.

    Args:
        personality: Name of its family.
        mishap: Name of what goes wrong; None: nothing.
        speed: Seconds that pass on it per real second.
        unit: Number of the unit within its family: each has another serial number.
        isolate: Whether it gets its own file system, if this machine allows it.
    """

    def __init__(
        self,
        *,
        personality: str = "pixel-tensor",
        mishap: str | None = None,
        speed: float = 1.0,
        unit: int = 1,
        isolate: bool = True,
    ) -> None:
        self.simulation = Simulation(personality_named(personality), mishap_named(mishap), speed)
        self.own_serial = "SIM" + hashlib.sha256(f"{personality}/{unit}".encode()).hexdigest()[:9].upper()
        """The value of `ro.serialno`."""
        self.clock = SimClock(self.simulation)
        """A clock whose sleep makes time pass on this phone instead; shared by all users."""
        self.server_port = 0
        """Port of the adb server that it is connected to; 0: none."""
        self._isolate = isolate
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name=f"simulated phone {personality}", daemon=True)
        self._started: Future[None] = Future()
        self._ending: asyncio.Event | None = None

    def __enter__(self) -> SimPhone:
        """Switch it on."""
        self._sandbox = _make_sandbox(self.personality.sdk, isolate=self._isolate)
        self._services = Services(self.simulation, self._sandbox, self.own_serial)
        self._thread.start()
        try:
            self._started.result(START_S)
        except BaseException:
            self._sandbox.remove()
            raise
        return self

    def __exit__(self, *_about: object) -> None:
        """Switch it off, and delete its files."""
        if self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._sandbox.remove()

    @property
    def personality(self) -> Personality:
        """Its family."""
        return self.simulation.person

    @property
    def port(self) -> int:
        """The port on which it listens, on this machine's loopback."""
        return self._services.daemon.port

    @property
    def address(self) -> str:
        """The address for `adb connect`."""
        return f"127.0.0.1:{self.port}"

    @property
    def serial(self) -> str:
        """The name that the adb server gives it."""
        return self.address

    @property
    def state(self) -> State:
        """Its current state."""
        return self.simulation.look()

    @property
    def barrier(self) -> str | None:
        """Why it is not isolated from this machine's files; None if it is."""
        return self._sandbox.barrier

    @property
    def warning(self) -> str | None:
        """A warning about a phone that is not isolated; None if it is."""
        if self.barrier is None:
            return None
        return (
            f"the simulated phone is not isolated ({self.barrier}): its programs see this machine's files, "
            "so a file that a test forgot to push may exist here but not on a phone"
        )

    @property
    def commands_run(self) -> int:
        """Number of shell commands started on it."""
        return self._services.commands_run

    def advance(self, seconds: float, load_cores: float = 0.0) -> State:
        """Let time pass on it at once, with this many busy cores."""
        return self.simulation.advance(seconds, load_cores)

    def change(self, **fields: Any) -> State:
        """Change fields of its state, such as `skin_c=48.0`, `plugged=False` or `screen_on=False`."""
        return self.simulation.change(**fields)

    def slow_down(self, factor: float) -> None:
        """Make all work on it take this many times as long: a regression to detect."""
        self.simulation.slow_down(factor)

    def end_mishap(self) -> None:
        """End its mishap: damage already done remains, but nothing else goes wrong."""
        self.simulation.mishap = self._services.daemon.mishap = NONE

    def install_app(
        self, app: str, program: Sequence[str | os.PathLike[str]], *, files: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        """Install an app: from now on `am start` runs a program.

        The program is copied to the phone together with the files among its arguments. `sys.executable` represents a
        Python for apps on the phone, with only the standard library.

        Args:
            app: Its package name, `com.example.bench`.
            program: The program and its arguments. The extras of `am start` are in its environment, and its
                output goes to the phone's log.
            files: Further files and folders of this machine, copied to the program's folder.
        """
        self._services.apps.install(app, [os.fspath(word) for word in program], [Path(file) for file in files])

    @property
    def log(self) -> tuple[str, ...]:
        """Lines of its log, including output of apps: `I com.example.bench: text`."""
        return self._services.apps.log

    def leave(self, seconds: float | None = None) -> None:
        """Drop its connection, for some seconds or permanently."""
        asyncio.run_coroutine_threadsafe(self._services.daemon.go_away(seconds), self._loop).result()

    def _live(self) -> None:
        """Run the daemon until the phone is switched off."""
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._run())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            if not self._started.done():
                self._started.set_exception(error)
        finally:
            self._loop.close()

    async def _run(self) -> None:
        self._ending = asyncio.Event()
        try:
            await self._services.start()
            self._started.set_result(None)
            await self._ending.wait()
        finally:
            await self._services.stop()
            await self._loop.shutdown_asyncgens()


class SimClock:
    """The session's clock if the device is simulated: waiting takes no real time.

    The time between two readings is real, so that measurements are valid; a sleep advances both this
    clock and the phone.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._jumped_ns = 0

    def now_ns(self) -> int:
        """Read the clock."""
        return time.perf_counter_ns() + self._jumped_ns

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self._jumped_ns += round(max(0.0, seconds) * NS_PER_S)
        self._simulation.advance(seconds)


@contextmanager
def simulated_phone(
    personality: str = "pixel-tensor",
    *,
    mishap: str | None = None,
    speed: float = 1.0,
    unit: int = 1,
    isolate: bool = True,
    server: AdbServer | None = None,
) -> Iterator[SimPhone]:
    """Switch a simulated phone on and connect a genuine adb server to it.

    Args:
        personality: Name of its family.
        mishap: Name of what goes wrong; None: nothing.
        speed: Seconds that pass on it per real second.
        unit: Number of the unit within its family.
        isolate: Whether it gets its own file system, if this machine allows it.
        server: A running adb server; None starts one for this phone.

    Raises:
        UsageError: The personality or mishap is unknown, or adb is not installed.
        TargetError: adb did not start or did not connect.
    """
    with ExitStack() as stack:
        phone = stack.enter_context(
            SimPhone(personality=personality, mishap=mishap, speed=speed, unit=unit, isolate=isolate)
        )
        adb = server if server is not None else stack.enter_context(AdbServer())
        answer = adb.connect(phone.address)
        if "connected to" not in answer and not phone.simulation.mishap.unauthorized:
            raise TargetError(f"adb did not connect to the simulated phone {personality}", answer.strip())
        stack.callback(adb.disconnect, phone.address)
        phone.server_port = adb.port
        yield phone


def _make_sandbox(sdk: int, *, isolate: bool) -> Sandbox:
    """Return a file system for a phone: its own if requested and allowed on this machine."""
    barrier = "isolation was not requested"
    if isolate:
        try:
            return IsolatedSandbox(COMMANDS, sdk)
        except NotIsolatedError as error:
            barrier = str(error)
    return TranslatedSandbox(COMMANDS, barrier)


def parse_spec(spec: str) -> tuple[str, str | None]:
    """Parse a target: `sim`, `sim:motorola`, `sim:motorola:disk-full` -> personality and mishap.

    Raises:
        UsageError: It names an unknown one.
    """
    word, *names = spec.split(":")
    if word != "sim" or len(names) > 2:  # noqa: PLR2004 - personality and mishap
        raise UsageError(f"{spec!r} is not a simulated phone", "write sim, sim:PERSONALITY or sim:PERSONALITY:MISHAP")
    personality = names[0] if names and names[0] else "pixel-tensor"
    mishap = names[1] if len(names) > 1 else None
    personality_named(personality)
    mishap_named(mishap)
    return personality, mishap
