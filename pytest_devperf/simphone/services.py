"""What a simulated phone offers behind its daemon: which service a name asks for, and the work of each."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import Awaitable
from pathlib import Path

from pytest_devperf.simphone.apps import Apps
from pytest_devperf.simphone.asked import Answer, Asked
from pytest_devperf.simphone.command import Command
from pytest_devperf.simphone.commands import answer
from pytest_devperf.simphone.daemon import Daemon, Service, Stream
from pytest_devperf.simphone.dumps import sys_files
from pytest_devperf.simphone.life import Life
from pytest_devperf.simphone.reverse import Reverses, serve_tcp
from pytest_devperf.simphone.sandbox import OWN_WORDS, Sandbox
from pytest_devperf.simphone.shell import Ground, serve_shell
from pytest_devperf.simphone.sync import Files, serve_sync
from pytest_devperf.simphone.translate import is_writable, locate
from pytest_devperf.simphone.usage import cpu_s, memory_kib

TICK_S = 0.2
"""How often the shown clocks and temperatures follow the state while commands run. A tick costs this machine
about a millisecond, and the workload runs on it, too."""

NO_SPACE = 28
"""ENOSPC, as the phone's kernel numbers it."""


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
        self._reverses = Reverses()
        self._running: set[int] = set()
        self._unwatched: list[Command] = []
        self._cpu_s: dict[int, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._pipe = -1
        self._asks = b""
        self._replies: dict[Path, int] = {}
        self._masks: dict[str, frozenset[int]] = {}
        self._came_back = False

    async def start(self) -> None:
        """Listen: for adb servers, and for stub commands."""
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
        self.sandbox.end_processes()
        await self._reverses.close()
        await self.daemon.close()
        self.sandbox.end_processes()  # once more: a command that was just beginning
        for command in self._unwatched:
            await command.wait()
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
            return functools.partial(serve_sync, files=self._files())
        if word == "reverse":
            return functools.partial(self._reverses.serve, order=rest)
        if word == "tcp" and rest.isdigit():
            return functools.partial(serve_tcp, port=int(rest))
        return None

    def refresh(self, *, anew: bool = False) -> None:
        """Let the files in the sandbox say what the state is now."""
        self.sandbox.show(sys_files(self.life.person, self.life.look()), anew=anew)
        for name, cpus in (("slowdown", None), *self._masks.items()):
            self.sandbox.put(self.sandbox.control / name, f"{self.life.slowdown(cpus):.6f}\n")

    def spawn(self, work: Awaitable[None]) -> None:
        """Run something beside, until it ends or the phone does."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- shell -------------------------------------------------------------------------------------

    async def _shell(self, stream: Stream, text: str, *, packets: bool) -> None:
        self.refresh(anew=True)
        ground = Ground(self.sandbox, self.life.mishap, self._began, self._ended)
        await serve_shell(stream, ground, text, packets=packets)

    def _began(self, command: Command) -> None:
        pid = command.pid
        self.commands_run += 1
        self._running.add(pid)
        if len(self._running) == 1:
            self.spawn(self._follow())
        mishap = self.life.mishap
        if mishap.dies_after_s is not None:
            self.spawn(self._lose(pid, mishap.dies_after_s, None))
        elif mishap.away_s is not None and not self._came_back:
            self.spawn(self._lose(pid, mishap.lost_after_s, mishap.away_s))

    def _ended(self, command: Command) -> None:
        self._running.discard(command.pid)
        self._cpu_s.pop(command.pid, None)
        # One that goes on by itself is asked again later, so that it does not stay a zombie.
        self._unwatched = [left for left in (*self._unwatched, command) if left.process.poll() is None]

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
        """CPU time that our commands used since the last tick, over the tick."""
        used_s = 0.0
        for pid in tuple(self._running):
            spent_s = cpu_s(pid)
            used_s += max(0.0, spent_s - self._cpu_s.get(pid, 0.0))
            self._cpu_s[pid] = spent_s
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
                self._reply(Path(os.fsdecode(line)))

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
            memory=memory_kib,
            apps=self.apps.processes,
            log=self.apps.log,
        )
        said = answer(name, asked)
        self._carry_out(said)
        return said.out, said.err, said.code

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
        return f"{self.sandbox.control / name}\n", "", 0

    # -- the rest ----------------------------------------------------------------------------------

    def _files(self) -> Files:
        return Files(lambda path: locate(path, self.sandbox.root), is_writable, self._received)

    def _received(self, total: int) -> None:
        mishap = self.life.mishap
        if mishap.disk_full:
            raise OSError(NO_SPACE, "No space left on device")
        if mishap.dies_after_push_bytes is not None and total >= mishap.dies_after_push_bytes:
            self.spawn(self.daemon.go_away())
            raise OSError(5, "Input/output error")

    def _banner(self) -> str:
        person = self.life.person
        facts = {
            "ro.product.name": person.codename,
            "ro.product.model": person.model,
            "ro.product.device": person.codename,
            "features": ",".join(person.features),
        }
        return "device::" + "".join(f"{key}={value};" for key, value in facts.items())
