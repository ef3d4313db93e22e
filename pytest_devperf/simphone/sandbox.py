"""The file system of a simulated phone as the session sees it: what is shown there, and how commands get there.

On Linux it is the phone's own, and holds nothing of this machine but single programs and libraries (`lent.py`). Where
the kernel does not allow that, and on other systems, it is a folder of this machine, and paths are translated.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_devperf.simphone.layout import APPS, CONTROL, WRITABLE, Layout, isolated_layout, translated_layout
from pytest_devperf.simphone.lent import RUNTIME, find_lent, find_tools, is_interpreter
from pytest_devperf.simphone.stubs import make_stubs
from pytest_devperf.simphone.system import NotIsolatedError, System
from pytest_devperf.simphone.translate import Back, sed_script, to_sandbox

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
            **self.slowness("slowdown"),
        }

    def slowness(self, name: str) -> dict[str, str]:
        """Give the variables that name the files which say how slow work is."""
        path = self.control_path(name)
        return {"DEVPERF_SIM_SLOWDOWN": path, "DEVPERF_SIM_CLOCKS": f"{path}.clocks"}

    def control_path(self, name: str) -> str:
        """Give the path of a file in the control folder as the phone's programs see it."""
        return f"{CONTROL}/{name}"

    def reply_folder(self, path: str) -> Path:
        """Find the folder in which a stub command waits for its answer."""
        return self.control / path.rpartition("/")[2]

    def show(self, files: Mapping[str, str], *, anew: bool = False) -> None:
        """Let files read so; each is replaced as a whole, so that nobody reads half a number.

        Args:
            files: Path below the phone's root -> text.
            anew: See also whether a command wrote over one, and write it again.
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
        """Put a file where the shell user might have left it, below its own folder."""
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
            elif Path(word).is_file():
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
        """Tell the space that pushed files take."""
        sizes = (path.lstat().st_size for path in self._data.rglob("*"))
        return sum(sizes) // 1024

    def remove(self) -> None:
        """Switch the system off; with it all its files go."""
        self.system.end()


class IsolatedSandbox(Sandbox):
    """A phone that has a file system, processes and a network of its own.

    Args:
        sdk: Level of Android's interface.

    Raises:
        NotIsolatedError: This machine does not allow it.
    """

    def __init__(self, sdk: int) -> None:
        if sys.platform != "linux":
            raise NotIsolatedError("only Linux has the namespaces that it takes")
        try:
            lent = find_lent()
        except LookupError as error:
            raise NotIsolatedError(str(error)) from error
        stubs = make_stubs(control=CONTROL, interpreter="/system/bin/sh", translating=False)
        system = System(_plan(isolated_layout(lent, stubs, sdk=sdk), isolate=True))
        self.has_locale = lent.locale is not None
        self._python = lent.interpreter
        shown, data = (Path(f"/proc/self/fd/{handle}") for handle in system.handles)
        super().__init__(system, shown=shown, control=shown / "control", data=data, apps=shown / "app")

    def place(self, path: str) -> str:
        """Give it as it is."""
        return path

    def shell_words(self, text: str) -> list[str]:
        """Give the phone's own shell."""
        return ["/system/bin/sh", *(("-c", text) if text else ("-s",))]

    def inward(self, data: bytes) -> bytes:
        """Give them as they are."""
        return data

    def outward(self) -> Back | None:
        """Nothing has to be translated."""
        return None

    @property
    def interpreter(self) -> tuple[str, Mapping[str, str]]:
        """The Python that the phone was lent, with its standard library alone."""
        if self._python is None:
            return sys.executable, {}  # not there: the app does not start, and its log says so
        return self._python, {"PYTHONHOME": RUNTIME, "LD_LIBRARY_PATH": f"{RUNTIME}/needed"}


class TranslatedSandbox(Sandbox):
    """A phone that is a folder of this machine: it sees this machine's files where a path is not translated.

    Args:
        barrier: Why it is not isolated.
    """

    def __init__(self, barrier: str) -> None:
        self.barrier = barrier
        # realpath: what is printed must hold the very name that is taken out of it again
        base = Path(os.path.realpath(tempfile.mkdtemp(prefix="devperf-sim-")))
        self._root = base / "phone"
        control = base / "control"
        control.mkdir()
        (control / "paths.sed").write_text(sed_script(self._root), encoding="utf-8")
        stubs = make_stubs(control=str(control), interpreter="/bin/sh", translating=True)
        system = System(_plan(translated_layout(find_tools(), stubs), isolate=False, base=str(base)))
        super().__init__(
            system,
            shown=self._root,
            control=control,
            data=self._root / SHELL_FOLDER.lstrip("/"),
            apps=self._root / APPS.lstrip("/"),
        )

    def place(self, path: str) -> str:
        """Give it with the folder before it."""
        return f"{self._root}{path}" if path != "/" else str(self._root)

    def shell_words(self, text: str) -> list[str]:
        """Give this machine's shell, and the text translated."""
        return ["/bin/sh", *(("-c", to_sandbox(text, self._root)) if text else ("-s",))]

    def inward(self, data: bytes) -> bytes:
        """Translate them like any shell text."""
        return os.fsencode(to_sandbox(os.fsdecode(data), self._root))

    def outward(self) -> Back | None:
        """Take the folder out of what is printed."""
        return Back(self._root)

    def control_path(self, name: str) -> str:
        """Give it where it is on this machine."""
        return str(self.control / name)

    @property
    def interpreter(self) -> tuple[str, Mapping[str, str]]:
        """This session's own Python."""
        return sys.executable, {}


def make_sandbox(sdk: int, *, isolate: bool = True) -> Sandbox:
    """Make a phone's file system: its own if this machine allows it.

    Args:
        sdk: Level of Android's interface.
        isolate: Whether that is tried.
    """
    if not isolate:
        return TranslatedSandbox("isolation was not asked for")
    try:
        return IsolatedSandbox(sdk)
    except NotIsolatedError as error:
        return TranslatedSandbox(str(error))


def _plan(layout: Layout, *, isolate: bool, base: str = "") -> dict[str, object]:
    return {
        "isolate": isolate,
        "base": base,
        "steps": layout.steps,
        "shown": layout.shown,
        "writable": WRITABLE,
    }


def _overwrite(where: Path, text: str) -> None:
    """Write a file in one go; what is left of a longer text goes after it."""
    data = text.encode()
    where.chmod(0o644)
    with where.open("r+b", buffering=0) as file:
        file.write(data)
        file.truncate(len(data))
    where.chmod(0o444)


def _written(where: Path) -> tuple[int, int] | None:
    """What tells that a file was written since: its number and its time; None where it is gone."""
    try:
        facts = where.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns
