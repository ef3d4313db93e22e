"""What a simulated phone offers behind its daemon: which service a name asks for, and the work of each."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
from collections.abc import Awaitable
from pathlib import Path

from pytest_devperf.simphone.apps import Apps
from pytest_devperf.simphone.asked import Answer, Asked
from pytest_devperf.simphone.command import Command
from pytest_devperf.simphone.commands import answer
from pytest_devperf.simphone.daemon import Daemon, Service, Stream
from pytest_devperf.simphone.dumps import sys_files
from pytest_devperf.simphone.life import Life
from pytest_devperf.simphone.reverse import Reverses, carry, serve_tcp
from pytest_devperf.simphone.sandbox import Sandbox
from pytest_devperf.simphone.shell import Ground, serve_shell
from pytest_devperf.simphone.stubs import OWN_WORDS
from pytest_devperf.simphone.usage import cpu_s, find_process, memory_kib

TICK_S = 0.2
"""How often the shown clocks and temperatures follow the state while commands run. A tick costs this machine
about a millisecond, and the workload runs on it, too."""

WAITING = "exec cat >/dev/null"
"""End of a command that only waits until its asker goes: a session's claim on the phone."""


class Services:
    """The services of one phone.

    Args:
        life: Its state over time.
        sandbox: Its files.
        serial: What it calls itself.
    """

    def __init__(self, life: Life, sandbox: Sandbox, serial: str) -> None:
        self.life = life
        self.sandbox = sandbox
        self.serial = serial
        self.daemon = Daemon(self._banner(), self.find, life.mishap)
        self.commands_run = 0
        """Shell commands begun so far."""
        self.apps = Apps(sandbox, self._began, self._ended)
        """What is installed."""
        self._reverses = Reverses(sandbox.system.make_socket)
        self._running: set[int] = set()
        self._spent_s = 0.0
        """CPU time that everything on it has used."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._pipe = -1
        self._asks = b""
        self._replies: dict[Path, int] = {}
        self._masks: dict[str, frozenset[int]] = {}
        self._came_back = False

    async def start(self) -> None:
        """Listen: for adb servers, and for stub commands."""
        self.sandbox.system.attach()
        self._pipe = os.open(self.sandbox.control / "ask", os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._pipe, self._take_asks)
        self.refresh(anew=True)
        for path, text in self.life.mishap.files.items():
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
        for pipe in (self._pipe, *self._replies.values()):
            os.close(pipe)

    def find(self, name: str) -> Service | None:
        """Find the service that an OPEN asks for; None refuses it."""
        kind, _, rest = name.partition(":")
        word, *options = kind.split(",")
        if word in {"shell", "exec"}:
            packets = "v2" in options
            if packets and "shell_v2" not in self.life.person.features:
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
        """Let the files in the sandbox say what the state is now."""
        self.sandbox.show(sys_files(self.life.person, self.life.look()), anew=anew)
        for name, cpus in (("slowdown", None), *self._masks.items()):
            for file, factor in ((name, self.life.slowdown(cpus)), (f"{name}.clocks", self.life.clock_slowdown(cpus))):
                self.sandbox.put(self.sandbox.control / file, f"{factor:.6f}\n")

    def spawn(self, work: Awaitable[None]) -> None:
        """Run something beside, until it ends or the phone does."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- shell -------------------------------------------------------------------------------------

    async def _shell(self, stream: Stream, text: str, *, packets: bool) -> None:
        self.refresh(anew=True)
        began = self._waits if text.endswith(WAITING) else self._began
        ground = Ground(self.sandbox, self.life.mishap, began, self._ended)
        await serve_shell(stream, ground, text, packets=packets)

    def _waits(self, _command: Command) -> None:
        """Take note of a command that does no work: it heats nothing, and no mishap interrupts it."""
        self.commands_run += 1

    def _began(self, command: Command) -> None:
        pid = command.pid
        self.commands_run += 1
        self._running.add(pid)
        if len(self._running) == 1:
            self._spent_s = cpu_s(self.sandbox.system.pid)
            self.spawn(self._follow())
        mishap = self.life.mishap
        if mishap.dies_after_s is not None:
            self.spawn(self._lose(pid, mishap.dies_after_s, None))
        elif mishap.away_s is not None and not self._came_back:
            self.spawn(self._lose(pid, mishap.lost_after_s, mishap.away_s))

    def _ended(self, command: Command) -> None:
        self._running.discard(command.pid)

    async def _lose(self, pid: int, after_s: float, away_s: float | None) -> None:
        """Drop the link once a command has run for so long."""
        await asyncio.sleep(after_s)
        if pid in self._running and not self._came_back:
            self._came_back = True
            await self.daemon.go_away(away_s)

    async def _follow(self) -> None:
        """While commands run: heat by the CPU they really use, and files that show it."""
        while self._running:
            await asyncio.sleep(TICK_S)
            self.life.work(self._used_cores())
            self.refresh()
        self.life.work(0.0)

    def _used_cores(self) -> float:
        """CPU time that everything on it used since the last tick, over the tick."""
        spent_s = cpu_s(self.sandbox.system.pid)
        used_s, self._spent_s = max(0.0, spent_s - self._spent_s), spent_s
        return used_s / TICK_S

    # -- stub commands -----------------------------------------------------------------------------

    def _take_asks(self) -> None:
        self._asks += os.read(self._pipe, 65536)
        *lines, self._asks = self._asks.split(b"\n")
        for pipe in [pipe for folder, pipe in self._replies.items() if not folder.exists()]:
            os.close(pipe)
        self._replies = {folder: pipe for folder, pipe in self._replies.items() if folder.exists()}
        for line in lines:
            with contextlib.suppress(OSError):  # its asker was killed meanwhile
                self._reply(self.sandbox.reply_folder(os.fsdecode(line)))

    def _reply(self, folder: Path) -> None:
        name, *words = (folder / "words").read_text("utf-8", "surrogateescape").split("\0")[:-1]
        out, err, code = self._own_answer(words) if name == OWN_WORDS else self._answer(name, words)
        (folder / "out").write_text(out, encoding="utf-8", errors="surrogateescape", newline="")
        (folder / "err").write_text(err, encoding="utf-8", errors="surrogateescape", newline="")
        pipe = self._replies[folder] = os.open(folder / "done", os.O_RDWR | os.O_NONBLOCK)
        os.write(pipe, f"{code}\n".encode())

    def _answer(self, name: str, words: list[str]) -> tuple[str, str, int]:
        asked = Asked(
            words=tuple(words),
            person=self.life.person,
            mishap=self.life.mishap,
            state=self.life.look(),
            serial=self.serial,
            used_kib=self.sandbox.used_kib() if name == "df" else 0,
            free_kib=self.sandbox.free_kib() if name == "df" else None,
            memory=self._memory_kib,
            apps=self.apps.processes,
            log=self.apps.log,
        )
        said = answer(name, asked)
        self._carry_out(said)
        return said.out, said.err, said.code

    def _memory_kib(self, pid: int) -> tuple[int, int, int] | None:
        system = self.sandbox.system
        here = find_process(system.pid, pid) if system.isolated else pid
        return None if here is None else memory_kib(here)

    def _carry_out(self, said: Answer) -> None:
        if said.change:
            self.life.change(**said.change)
            self.refresh()
        if said.logged is not None:
            self.apps.log = said.logged
        if said.stop is not None:
            self.apps.stop(said.stop)
        if said.launch is not None:
            self.spawn(self.apps.run(said.launch, said.extras))

    def _own_answer(self, words: list[str]) -> tuple[str, str, int]:
        cores = self.life.person.body.cores
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

    async def _serve_files(self, stream: Stream) -> None:
        limit = self.life.mishap.dies_after_push_bytes
        came = 0

        def passed(more: int) -> None:
            nonlocal came
            came += more
            if limit is not None and came >= limit:
                self.spawn(self.daemon.go_away())

        ours, theirs = socket.socketpair()
        with theirs:
            await self.sandbox.system.serve_files(theirs, full=self.life.mishap.disk_full)
        await carry(stream, *await asyncio.open_connection(sock=ours), passed=passed)

    def _banner(self) -> str:
        person = self.life.person
        facts = {
            "ro.product.name": person.codename,
            "ro.product.model": person.model,
            "ro.product.device": person.codename,
            "features": ",".join(person.features),
        }
        return "device::" + "".join(f"{key}={value};" for key, value in facts.items())
