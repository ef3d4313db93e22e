"""The file system of a simulated phone as the session sees it: what is shown there, and how commands get there."""

from __future__ import annotations

import contextlib
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_devperf.simphone.layout import APPS, CONTROL
from pytest_devperf.simphone.lent import is_interpreter
from pytest_devperf.simphone.system import System
from pytest_devperf.simphone.translate import Back

SHELL_FOLDER = "/data/local/tmp"


class Sandbox(ABC):
    """One phone's files, and the system that runs its programs.

    Args:
        system: The phone, booted.
        shown: Folder of this machine below which the phone's `sys` and `proc` are shown.
        control: Folder in which stub commands ask.
        data: The phone's `/data/local/tmp`.
        apps: The phone's `/data/app`.
    """

    barrier: str | None = None
    """Why it sees this machine's files; None if it does not."""
    has_locale = True
    """Whether it has the one locale that Android's C library knows, C.UTF-8."""

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
        """Give a path of the phone as its programs have to be given it."""

    @abstractmethod
    def shell_words(self, text: str) -> list[str]:
        """Give the program and the arguments that carry out shell text."""

    @abstractmethod
    def inward(self, data: bytes) -> bytes:
        """Translate commands that come for a shell's standard input."""

    @abstractmethod
    def outward(self) -> Back | None:
        """Make what translates a program's output back; None if nothing has to be."""

    @property
    @abstractmethod
    def interpreter(self) -> tuple[str, Mapping[str, str]]:
        """The Python that apps run with, and what it needs in its environment."""

    def environment(self) -> dict[str, str]:
        """Give what a command on the phone finds in its environment, nothing of this machine's."""
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
        """Give the path of a file in the control folder as the phone's programs see it."""
        return f"{CONTROL}/{name}"

    def reply_folder(self, path: str) -> Path:
        """Find the folder in which a stub command waits for its answer."""
        return self.control / path.rpartition("/")[2]

    def show(self, files: Mapping[str, str], *, anew: bool = False) -> None:
        """Write files that the phone shows; each is replaced as a whole, so no reader sees half a number.

        Args:
            files: Path below the phone's root -> text.
            anew: Write a file again if a command has written over it.
        """
        for name, text in files.items():
            where = self._shown_below / name
            shown, written = self._shown.get(name, ("", None))
            if shown != text or (anew and self.barrier is not None and _written(where) != written):
                # A file of /proc is mounted by itself: a new one in its place would not be seen.
                (_overwrite if self.barrier is None and name.startswith("proc/") else self.put)(where, text)
                self._shown[name] = (text, _written(where))

    def put(self, where: Path, text: str) -> None:
        """Replace one file as a whole."""
        where.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.control / "fresh"
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o444)
        fresh.replace(where)

    def leave(self, path: str, text: str) -> None:
        """Write a file below the shell user's own folder, as a session might have left it."""
        where = self._data / path.removeprefix(SHELL_FOLDER).lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")

    def install(self, app: str, program: Sequence[str], files: Sequence[Path]) -> list[str]:
        """Bring an app's files to the phone.

        Args:
            app: Its package name.
            program: Program and arguments on this machine: files among them go with it, and this session's Python
                becomes the phone's.
            files: Further files and folders; all lie beside each other.

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
            elif os.path.isfile(word):  # noqa: PTH113 - a word may be too long for a path
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
        """Measure the space that pushed files take."""
        total = 0
        for path in self._data.rglob("*"):
            with contextlib.suppress(OSError):  # gone meanwhile
                total += path.lstat().st_size
        return total // 1024

    def free_kib(self) -> int:
        """Measure the space that is really left for them."""
        facts = os.statvfs(self._data)
        return facts.f_bavail * facts.f_frsize // 1024

    def remove(self) -> None:
        """Switch the system off; with it all its files go."""
        self.system.end()


def _overwrite(where: Path, text: str) -> None:
    """Write a file in one go; what is left of a longer text goes after it."""
    data = text.encode()
    where.chmod(0o644)
    with where.open("r+b", buffering=0) as file:
        file.write(data)
        file.truncate(len(data))
    where.chmod(0o444)


def _written(where: Path) -> tuple[int, int] | None:
    """Read what changes when a file is written: its number and its time; None if it is gone."""
    try:
        facts = where.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns
