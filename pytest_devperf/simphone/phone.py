"""One simulated phone behind a genuine adb server, as tests and the target `sim` hold it."""

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
from pytest_devperf.simphone.family import personality_named
from pytest_devperf.simphone.isolated import IsolatedSandbox
from pytest_devperf.simphone.life import Life
from pytest_devperf.simphone.mishap import NONE, mishap_named
from pytest_devperf.simphone.personality import Personality
from pytest_devperf.simphone.physics import State
from pytest_devperf.simphone.sandbox import Sandbox
from pytest_devperf.simphone.server import AdbServer
from pytest_devperf.simphone.services import Services
from pytest_devperf.simphone.system import NotIsolatedError
from pytest_devperf.simphone.translated import TranslatedSandbox

START_S = 10.0
"""Longest wait for the daemon's thread; it takes a few milliseconds."""


@final
class SimPhone:
    """A phone that is switched on: it listens, and its state can be looked at and changed.

    Args:
        personality: Name of its family.
        mishap: Name of what goes wrong; None for nothing.
        speed: Seconds that pass on it per real second.
        unit: Which one of its family: another unit has another serial number.
        isolate: Whether it is given a file system of its own where this machine allows that.
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
        self.life = Life(personality_named(personality), mishap_named(mishap), speed)
        self.own_serial = "SIM" + hashlib.sha256(f"{personality}/{unit}".encode()).hexdigest()[:9].upper()
        """What `ro.serialno` says."""
        self.clock = SimClock(self.life)
        """A clock whose sleep lets the time pass on this phone instead; one for all who ask."""
        self.server_port = 0
        """Port of the adb server that knows it; 0 while there is none."""
        self._isolate = isolate
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name=f"simulated phone {personality}", daemon=True)
        self._started: Future[None] = Future()
        self._ending: asyncio.Event | None = None

    def __enter__(self) -> SimPhone:
        """Switch it on."""
        self._sandbox = _make_sandbox(self.personality.sdk, isolate=self._isolate)
        self._services = Services(self.life, self._sandbox, self.own_serial)
        self._thread.start()
        try:
            self._started.result(START_S)
        except BaseException:
            self._sandbox.remove()
            raise
        return self

    def __exit__(self, *_about: object) -> None:
        """Switch it off, and take everything away."""
        if self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._sandbox.remove()

    @property
    def personality(self) -> Personality:
        """The family it belongs to."""
        return self.life.person

    @property
    def port(self) -> int:
        """Where it listens, on this machine's loopback."""
        return self._services.daemon.port

    @property
    def address(self) -> str:
        """Where it listens, as `adb connect` wants it."""
        return f"127.0.0.1:{self.port}"

    @property
    def serial(self) -> str:
        """What the adb server calls it."""
        return self.address

    @property
    def state(self) -> State:
        """How it is now."""
        return self.life.look()

    @property
    def barrier(self) -> str | None:
        """Why it is not isolated from this machine's files; None if it is."""
        return self._sandbox.barrier

    @property
    def warning(self) -> str | None:
        """What a user has to know about a phone that is not isolated; None for one that is."""
        if self.barrier is None:
            return None
        return (
            f"the simulated phone is not isolated ({self.barrier}): its programs see this machine's files, "
            "so what a test forgot to push may be found here and is missing on a phone"
        )

    @property
    def commands_run(self) -> int:
        """Shell commands that it has begun."""
        return self._services.commands_run

    def advance(self, seconds: float, load_cores: float = 0.0) -> State:
        """Let time pass on it at once, under a load of so many cores."""
        return self.life.advance(seconds, load_cores)

    def change(self, **fields: Any) -> State:
        """Change fields of its state, such as `skin_c=48.0`, `plugged=False` or `screen_on=False`."""
        return self.life.change(**fields)

    def slow_down(self, factor: float) -> None:
        """Make all work on it take this many times as long: a regression to be found."""
        self.life.slow_down(factor)

    def mend(self) -> None:
        """End its mishap: what went wrong so far stays as it is, nothing more goes wrong."""
        self.life.mishap = self._services.daemon.mishap = NONE

    def install_app(
        self, app: str, program: Sequence[str | os.PathLike[str]], *, files: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        """Install an app: from now on `am start` runs a program.

        The program is copied to the phone with the files among its arguments. `sys.executable` stands for a Python
        that the phone has for apps, with the standard library alone.

        Args:
            app: Its package name, `com.example.bench`.
            program: The program and its arguments. Extras given to `am start` are in its environment, and what
                it prints goes to the phone's log.
            files: Further files and folders of this machine; they lie beside the program.
        """
        self._services.apps.install(app, [os.fspath(word) for word in program], [Path(file) for file in files])

    @property
    def log(self) -> tuple[str, ...]:
        """Lines of its log, what apps printed among them: `I com.example.bench: text`."""
        return self._services.apps.log

    def leave(self, seconds: float | None = None) -> None:
        """Drop its link, for some seconds or for good."""
        asyncio.run_coroutine_threadsafe(self._services.daemon.go_away(seconds), self._loop).result()

    def _live(self) -> None:
        """Run the daemon; the thread's whole life."""
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._run())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
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
    """The session's clock where the device is simulated: waiting costs no real time.

    Time between two readings is real time, so that what is measured is measured; a sleep makes both this
    clock and the phone jump.
    """

    def __init__(self, life: Life) -> None:
        self._life = life
        self._jumped_ns = 0

    def now_ns(self) -> int:
        """Read it."""
        return time.perf_counter_ns() + self._jumped_ns

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self._jumped_ns += round(max(0.0, seconds) * NS_PER_S)
        self._life.advance(seconds)


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
        mishap: Name of what goes wrong; None for nothing.
        speed: Seconds that pass on it per real second.
        unit: Which one of its family.
        isolate: Whether it is given a file system of its own where this machine allows that.
        server: An adb server that runs already; None starts one for this phone alone.

    Raises:
        UsageError: No such personality or mishap, or there is no adb.
        TargetError: adb did not start or did not connect.
    """
    with ExitStack() as stack:
        phone = stack.enter_context(
            SimPhone(personality=personality, mishap=mishap, speed=speed, unit=unit, isolate=isolate)
        )
        adb = server if server is not None else stack.enter_context(AdbServer())
        said = adb.connect(phone.address)
        if "connected to" not in said and not phone.life.mishap.unauthorized:
            raise TargetError(f"adb did not connect to the simulated phone {personality}", said.strip())
        stack.callback(adb.disconnect, phone.address)
        phone.server_port = adb.port
        yield phone


def _make_sandbox(sdk: int, *, isolate: bool) -> Sandbox:
    """Give a phone a file system: its own if that is wanted and this machine allows it."""
    barrier = "isolation was not asked for"
    if isolate:
        try:
            return IsolatedSandbox(sdk)
        except NotIsolatedError as error:
            barrier = str(error)
    return TranslatedSandbox(barrier)


def parse_spec(spec: str) -> tuple[str, str | None]:
    """Read what follows `sim`: `sim`, `sim:motorola`, `sim:motorola:disk-full` -> personality and mishap.

    Raises:
        UsageError: It names none that there is.
    """
    word, *names = spec.split(":")
    if word != "sim" or len(names) > 2:  # noqa: PLR2004 - personality and mishap
        raise UsageError(f"{spec!r} is no simulated phone", "write sim, sim:PERSONALITY or sim:PERSONALITY:MISHAP")
    personality = names[0] if names and names[0] else "pixel-tensor"
    mishap = names[1] if len(names) > 1 else None
    personality_named(personality)
    mishap_named(mishap)
    return personality, mishap
