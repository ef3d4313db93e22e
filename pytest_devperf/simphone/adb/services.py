"""The services of a simulated phone: their lookup by name, and their implementation."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
from collections.abc import Awaitable
from pathlib import Path

from pytest_devperf.simphone.adb.daemon import AdbStream, Daemon, Service
from pytest_devperf.simphone.adb.reverse import Reverses, carry, serve_tcp
from pytest_devperf.simphone.adb.shell import ShellContext, serve_shell
from pytest_devperf.simphone.android.apps import Apps
from pytest_devperf.simphone.android.commands import respond
from pytest_devperf.simphone.android.dumps import sys_files
from pytest_devperf.simphone.android.request import Request, Response
from pytest_devperf.simphone.isolation.command import RunningCommand
from pytest_devperf.simphone.isolation.sandbox import Sandbox
from pytest_devperf.simphone.isolation.stubs import OWN_WORDS
from pytest_devperf.simphone.isolation.usage import cpu_s, find_process, memory_kib
from pytest_devperf.simphone.state.simulation import Simulation

TICK_S = 0.2
"""Interval at which the published clocks and temperatures follow the state while commands run. An update takes this
machine about a millisecond, and the workload runs on it as well."""

WAITING = "exec cat >/dev/null"
"""End of a command that only waits until its client disconnects: a session's claim on the phone."""


class Services:
    """The services of one phone.

    Args:
        simulation: The simulation of its state.
        sandbox: Its files.
        serial: Its serial number.
    """

    def __init__(self, simulation: Simulation, sandbox: Sandbox, serial: str) -> None:
        self.simulation = simulation
        self.sandbox = sandbox
        self.serial = serial
        self.daemon = Daemon(self._banner(), self.find, simulation.mishap)
        self.commands_run = 0
        """Number of shell commands started so far."""
        self.apps = Apps(sandbox, self._began, self._ended)
        """Its apps."""
        self._reverses = Reverses(sandbox.system.make_socket)
        self._running: set[int] = set()
        self._spent_s = 0.0
        """CPU time used by all its processes."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._pipe = -1
        self._asks = b""
        self._masks: dict[str, frozenset[int]] = {}
        self._came_back = False

    async def start(self) -> None:
        """Listen for adb servers and for stub commands."""
        self.sandbox.system.attach()
        self._pipe = os.open(self.sandbox.control / "ask", os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._pipe, self._take_asks)
        self.refresh(anew=True)
        for path, text in self.simulation.mishap.files.items():
            self.sandbox.leave(path, text)
        await self.daemon.listen()

    async def stop(self) -> None:
        """End everything that was started here."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._reverses.close()
        await self.daemon.close()
        self.sandbox.system.detach()
        asyncio.get_running_loop().remove_reader(self._pipe)
        os.close(self._pipe)

    def find(self, name: str) -> Service | None:
        """Return the service for the name in an OPEN; None refuses it."""
        kind, _, rest = name.partition(":")
        word, *options = kind.split(",")
        if word in {"shell", "exec"}:
            packets = "v2" in options
            if packets and "shell_v2" not in self.simulation.person.features:
                return None
            return functools.partial(self._shell, text=rest, packets=packets)
        if word == "sync":
            return self._serve_files
        if word == "reverse":
            return functools.partial(self._reverses.serve, order=rest)
        if word == "tcp" and rest.isdigit():
            return functools.partial(serve_tcp, port=int(rest), make_socket=self.sandbox.system.make_socket)
        return None

    def refresh(self, *, anew: bool = False) -> None:
        """Update the files in the sandbox from the state."""
        self.sandbox.show(sys_files(self.simulation.person, self.simulation.look()), anew=anew)
        for name, cpus in (("slowdown", None), *self._masks.items()):
            for file, factor in (
                (name, self.simulation.slowdown(cpus)),
                (f"{name}.clocks", self.simulation.clock_slowdown(cpus)),
            ):
                self.sandbox.put(self.sandbox.control / file, f"{factor:.6f}\n")

    def spawn(self, work: Awaitable[None]) -> None:
        """Run a task until it ends or the phone is switched off."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- shell -------------------------------------------------------------------------------------

    async def _shell(self, stream: AdbStream, text: str, *, packets: bool) -> None:
        self.refresh(anew=True)
        began = self._waits if text.endswith(WAITING) else self._began
        context = ShellContext(self.sandbox, self.simulation.mishap, began, self._ended)
        await serve_shell(stream, context, text, packets=packets)

    def _waits(self, _command: RunningCommand) -> None:
        """Handle the start of a command that does no work: it generates no heat, and no mishap interrupts it."""
        self.commands_run += 1

    def _began(self, command: RunningCommand) -> None:
        pid = command.pid
        self.commands_run += 1
        self._running.add(pid)
        if len(self._running) == 1:
            self._spent_s = cpu_s(self.sandbox.system.pid)
            self.spawn(self._follow())
        mishap = self.simulation.mishap
        if mishap.dies_after_s is not None:
            self.spawn(self._lose(pid, mishap.dies_after_s, None))
        elif mishap.away_s is not None and not self._came_back:
            self.spawn(self._lose(pid, mishap.lost_after_s, mishap.away_s))

    def _ended(self, command: RunningCommand) -> None:
        self._running.discard(command.pid)

    async def _lose(self, pid: int, after_s: float, away_s: float | None) -> None:
        """Drop the connection when a command has run for this long."""
        await asyncio.sleep(after_s)
        if pid in self._running and not self._came_back:
            self._came_back = True
            await self.daemon.go_away(away_s)

    async def _follow(self) -> None:
        """While commands run, heat the phone by the CPU time that they really use, and publish the state."""
        while self._running:
            await asyncio.sleep(TICK_S)
            self.simulation.work(self._used_cores())
            self.refresh()
        self.simulation.work(0.0)

    def _used_cores(self) -> float:
        """Return the number of cores that its processes kept busy since the previous tick."""
        spent_s = cpu_s(self.sandbox.system.pid)
        used_s, self._spent_s = max(0.0, spent_s - self._spent_s), spent_s
        return used_s / TICK_S

    # -- stub commands -----------------------------------------------------------------------------

    def _take_asks(self) -> None:
        self._asks += os.read(self._pipe, 65536)
        *lines, self._asks = self._asks.split(b"\n")
        for line in lines:
            with contextlib.suppress(OSError):  # its client was killed in the meantime
                self._reply(self.sandbox.request_files(os.fsdecode(line)))

    def _reply(self, request: Path) -> None:
        """Answer a stub command, and delete its files: it keeps those open that it still reads."""
        words, out, err, done = (
            request.with_name(f"{request.name}.{kind}") for kind in ("words", "out", "err", "done")
        )
        name, *arguments = words.read_text("utf-8", "surrogateescape").split("\0")[:-1]
        output, errors, code = self._own_answer(arguments) if name == OWN_WORDS else self._answer(name, arguments)
        out.write_text(output, encoding="utf-8", errors="surrogateescape", newline="")
        err.write_text(errors, encoding="utf-8", errors="surrogateescape", newline="")
        pipe = os.open(done, os.O_RDWR | os.O_NONBLOCK)
        os.write(pipe, f"{code} {len(output)} {len(errors)}\n".encode())
        os.close(pipe)
        for file in (words, out, err, done):
            file.unlink()

    def _answer(self, name: str, words: list[str]) -> tuple[str, str, int]:
        request = Request(
            words=tuple(words),
            person=self.simulation.person,
            mishap=self.simulation.mishap,
            state=self.simulation.look(),
            serial=self.serial,
            used_kib=self.sandbox.used_kib() if name == "df" else 0,
            free_kib=self.sandbox.free_kib() if name == "df" else None,
            memory=self._memory_kib,
            apps=self.apps.processes,
            log=self.apps.log,
        )
        response = respond(name, request)
        self._carry_out(response)
        return response.out, response.err, response.code

    def _memory_kib(self, pid: int) -> tuple[int, int, int] | None:
        system = self.sandbox.system
        here = find_process(system.pid, pid) if system.isolated else pid
        return None if here is None else memory_kib(here)

    def _carry_out(self, response: Response) -> None:
        if response.change:
            self.simulation.change(**response.change)
            self.refresh()
        if response.logged is not None:
            self.apps.log = response.logged
        if response.stop is not None:
            self.apps.stop(response.stop)
        if response.launch is not None:
            self.spawn(self.apps.run(response.launch, response.extras))

    def _own_answer(self, words: list[str]) -> tuple[str, str, int]:
        cores = self.simulation.person.body.cores
        if words[:1] == ["all-cpus"]:
            return f"{(1 << cores) - 1:x}\n", "", 0
        try:
            mask = int(words[1].removeprefix("0x"), 16)
        except (IndexError, ValueError):
            return "", "taskset: bad mask\n", 1
        cpus = frozenset(n for n in range(cores) if mask >> n & 1)
        if not cpus:
            return "", "taskset: failed to set affinity: Invalid argument\n", 1
        name = f"slowdown.{mask:x}"
        self._masks[name] = cpus
        self.refresh()
        return f"{self.sandbox.control_path(name)}\n", "", 0

    # -- the rest ----------------------------------------------------------------------------------

    async def _serve_files(self, stream: AdbStream) -> None:
        limit = self.simulation.mishap.dies_after_push_bytes
        came = 0

        def passed(more: int) -> None:
            nonlocal came
            came += more
            if limit is not None and came >= limit:
                self.spawn(self.daemon.go_away())

        ours, theirs = socket.socketpair()
        with theirs:
            await self.sandbox.system.serve_files(theirs, full=self.simulation.mishap.disk_full)
        await carry(stream, *await asyncio.open_connection(sock=ours), passed=passed)

    def _banner(self) -> str:
        person = self.simulation.person
        facts = {
            "ro.product.name": person.codename,
            "ro.product.model": person.model,
            "ro.product.device": person.codename,
            "features": ",".join(person.features),
        }
        return "device::" + "".join(f"{key}={value};" for key, value in facts.items())
