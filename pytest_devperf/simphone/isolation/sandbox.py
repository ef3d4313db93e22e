"""The file system of a simulated phone from the session's view: published files, and paths of commands."""

from __future__ import annotations

import contextlib
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_devperf.simphone.isolation.host_files import is_interpreter
from pytest_devperf.simphone.isolation.layout import APPS, CONTROL
from pytest_devperf.simphone.isolation.system import System
from pytest_devperf.simphone.isolation.translate import OutputTranslator

SHELL_FOLDER = "/data/local/tmp"


class Sandbox(ABC):
    """The files of one phone, and the system that runs its programs.

    Args:
        system: The booted phone.
        shown: Folder of this machine that contains the phone's `sys` and `proc`.
        control: Folder for the requests of stub commands.
        data: The phone's `/data/local/tmp`.
        apps: The phone's `/data/app`.
    """

    barrier: str | None = None
    """Why it sees this machine's files; None if it does not."""
    has_locale = True
    """Whether it has C.UTF-8, the only locale of Android's C library."""

    def __init__(self, system: System, *, shown: Path, control: Path, data: Path, apps: Path) -> None:
        self.system = system
        self.control = control
        self._shown_below = shown
        self._data = data
        self._apps = apps
        self._shown: dict[str, tuple[str, tuple[int, int] | None]] = {}
        os.mkfifo(control / "ask", 0o600)

    @abstractmethod
    def place(self, path: str) -> str:
        """Convert a path of the phone for its programs."""

    @abstractmethod
    def shell_words(self, text: str) -> list[str]:
        """Return the program and arguments that run a shell command."""

    @abstractmethod
    def inward(self, data: bytes) -> bytes:
        """Translate commands for a shell's standard input."""

    @abstractmethod
    def outward(self) -> OutputTranslator | None:
        """Create a translator for a program's output; None if nothing has to be translated."""

    @property
    @abstractmethod
    def interpreter(self) -> tuple[str, Mapping[str, str]]:
        """The Python that runs apps, and the variables that it needs."""

    def environment(self) -> dict[str, str]:
        """Return the environment of commands on the phone, without that of this machine."""
        return {
            "PATH": f"{self.place('/system/bin')}:{self.place('/vendor/bin')}",
            "HOME": self.place("/"),
            "TMPDIR": self.place(SHELL_FOLDER),
            "SHELL": "/bin/sh",
            "USER": "shell",
            "LOGNAME": "shell",
            "HOSTNAME": "localhost",
            "ANDROID_DATA": "/data",
            "ANDROID_ROOT": "/system",
            "ANDROID_STORAGE": "/storage",
            "EXTERNAL_STORAGE": "/sdcard",
            **({"LC_ALL": "C.UTF-8"} if self.has_locale else {}),
            "DEVPERF_SIM_SLOWDOWN": self.control_path("slowdown"),
            "DEVPERF_SIM_CLOCKS": self.control_path("slowdown.clocks"),
        }

    def control_path(self, name: str) -> str:
        """Return the path of a file in the control folder, as the phone's programs see it."""
        return f"{CONTROL}/{name}"

    def request_files(self, path: str) -> Path:
        """Return what the files of a stub command's request are named after; `path` is the phone's name for it."""
        return self.control / path.rpartition("/")[2]

    def show(self, files: Mapping[str, str], *, anew: bool = False) -> None:
        """Write files that the phone shows; each is replaced at once, so that no reader sees half a number.

        Args:
            files: Path below the phone's root -> text.
            anew: Whether to write a file again if a command has overwritten it.
        """
        for name, text in files.items():
            where = self._shown_below / name
            shown, written = self._shown.get(name, ("", None))
            if shown != text or (anew and self.barrier is not None and _written(where) != written):
                # A file of /proc is a separate mount: a new file in its place would not be visible.
                (_overwrite if self.barrier is None and name.startswith("proc/") else self.put)(where, text)
                self._shown[name] = (text, _written(where))

    def put(self, where: Path, text: str) -> None:
        """Replace one file at once."""
        where.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.control / "fresh"
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o444)
        fresh.replace(where)

    def leave(self, path: str, text: str) -> None:
        """Write a file into the shell user's folder, as an earlier session might have left it."""
        where = self._data / path.removeprefix(SHELL_FOLDER).lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")

    def install(self, app: str, program: Sequence[str], files: Sequence[Path]) -> list[str]:
        """Copy an app's files to the phone.

        Args:
            app: Its package name.
            program: Program and arguments on this machine: files among them are copied too, and this session's Python
                is replaced by the phone's.
            files: Further files and folders; all are copied to the same folder.

        Returns:
            Program and arguments on the phone.
        """
        folder = self._apps / app
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        words = []
        for word in program:
            if is_interpreter(word):
                words.append(self.interpreter[0])
            elif os.path.isfile(word):  # noqa: PTH113 - a word may be longer than a path
                shutil.copy(word, folder)
                words.append(self.place(f"{APPS}/{app}/{Path(word).name}"))
            else:
                words.append(word)
        for file in files:
            if file.is_dir():
                shutil.copytree(file, folder / file.name)
            else:
                shutil.copy(file, folder)
        return words

    def used_kib(self) -> int:
        """Return the space used by pushed files."""
        total = 0
        for path in self._data.rglob("*"):
            with contextlib.suppress(OSError):  # deleted in the meantime
                total += path.lstat().st_size
        return total // 1024

    def free_kib(self) -> int:
        """Return the real free space."""
        facts = os.statvfs(self._data)
        return facts.f_bavail * facts.f_frsize // 1024

    def remove(self) -> None:
        """Switch the system off and delete its files."""
        self.system.end()


def _overwrite(where: Path, text: str) -> None:
    """Write a file with one write; the rest of a longer text is truncated afterwards."""
    data = text.encode()
    where.chmod(0o644)
    with where.open("r+b", buffering=0) as file:
        file.write(data)
        file.truncate(len(data))
    where.chmod(0o444)


def _written(where: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written: its inode and its time; None if it does not exist."""
    try:
        facts = where.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns
