"""Find the files of this machine that a simulated phone uses: single programs and the libraries they need.

Programs built on this machine have to run on the phone, so it has this machine's loader and C library in the
usual places. The shell and its commands are Android's own, mksh and toybox, if this machine has them; otherwise other
programs replace them. Nothing else exists: a library or a file that a test forgot to push is missing.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_devperf.simphone.isolation.elf import Elf, read_elf

TOOLS = (
    *("[", "awk", "base64", "basename", "cat", "chmod", "cksum", "cmp", "comm", "cp", "cut", "date", "dd"),
    *("diff", "dirname", "du", "echo", "env", "expand", "expr", "factor", "fallocate", "false", "find"),
    *("flock", "fmt", "fold", "getconf", "getopt", "grep", "groups", "gzip", "head", "hostname", "ionice"),
    *("join", "kill", "ln", "logname", "ls", "md5sum", "mkdir", "mkfifo", "mktemp", "mv", "nice", "nl"),
    *("nohup", "od", "paste", "patch", "pgrep", "pkill", "printenv", "printf", "prlimit", "ps", "pwd", "pwdx"),
    *("readlink", "realpath", "renice", "rm", "rmdir", "sed", "seq", "setsid", "sha1sum", "sha224sum"),
    *("sha256sum", "sha384sum", "sha512sum", "sleep", "sort", "split", "stat", "stty", "sync", "tac", "tail"),
    *("tar", "tee", "test", "time", "timeout", "touch", "tr", "true", "truncate", "tty", "uname", "uniq"),
    *("unlink", "uptime", "wc", "who", "xargs", "xxd", "yes"),
)
"""Commands of Android's toybox and awk that other systems have as well. Source: AOSP, external/toybox and
external/one-true-awk."""

SHELLS = ("mksh", "dash", "sh", "busybox")
"""Android's shell is mksh; among the others, those with fewer extensions of POSIX come first."""

SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
"""Folders that are searched for programs first, before a user's own scripts of the same names."""

LIBRARY_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
"""Folders that loaders search by default, in addition to those of the libraries that this process has loaded."""

C_LIBRARIES = ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6")
"""Libraries that a program built on this machine may need; those that exist are included."""

LOCALES = ("/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8")
"""Folders in which systems keep the only locale of Android's C library."""

RUNTIME = "/apex/python"
"""Folder of the interpreter of apps. Android's own app runtimes are under /apex as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFiles:
    """Files of this machine, by their paths on the phone."""

    programs: Mapping[str, str] = field(default_factory=dict)
    """Command -> file."""
    libraries: Mapping[str, str] = field(default_factory=dict)
    """Path at which this machine's loader looks for a library -> file."""
    locale: str | None = None
    """Folder of the locale C.UTF-8, the same on both; None if there is none."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Link at the root (`/lib`) -> its target, as on this machine."""
    interpreter: str | None = None
    """Path on the phone of the Python that runs apps; None if it is not available."""
    runtime: Mapping[str, str] = field(default_factory=dict)
    """Path on the phone -> file or folder of that Python."""
    hidden: tuple[str, ...] = ()
    """Folders of that Python that stay empty on the phone: packages installed on this machine."""


@functools.cache
def find_host_files() -> HostFiles:
    """Find the files for a phone with its own file system, once per process.

    Raises:
        LookupError: This machine has no shell that could run there.
    """
    programs = {name: path for name in TOOLS if (path := _find_program(name)) is not None} | _find_toybox()
    shell = next((path for name in SHELLS if (path := _find_program(name)) is not None), None)
    if shell is None:
        raise LookupError("this machine has no shell that could run on it")
    programs["sh"] = shell
    libraries = _Libraries()
    for path in programs.values():
        libraries.add(Path(path))
    libraries.add_named(C_LIBRARIES)
    interpreter, runtime, hidden = _find_runtime(libraries.found)
    roots = [Path("/", name) for name in ("lib", "lib32", "lib64")]
    return HostFiles(
        programs=programs,
        libraries=libraries.found,
        locale=next((path for path in LOCALES if Path(path).is_dir()), None),
        links={str(path): str(path.readlink()) for path in roots if path.is_symlink()},
        interpreter=interpreter,
        runtime=runtime,
        hidden=hidden,
    )


def find_tools() -> dict[str, str]:
    """Find the shell's commands on this machine by name, in any form."""
    found = {name: shutil.which(name, path=SYSTEM_PATH) or shutil.which(name) for name in TOOLS}
    return {name: path for name, path in found.items() if path is not None}


def is_interpreter(word: str) -> bool:
    """Return whether a word of an app's command is the Python that runs this session."""
    return word in {sys.executable, _base_executable()}


class _Libraries:
    """Collects libraries with their dependencies."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        """Path -> file."""
        self._seen: set[Path] = set()

    def add(self, path: Path) -> None:
        """Add the dependencies of a program or library, and its loader."""
        left = [path]
        while left:
            one = left.pop()
            elf = None if one in self._seen else read_elf(one)
            self._seen.add(one)
            if elf is not None:
                left += [Path(file) for file in self._find(elf, one)]

    def add_named(self, names: Iterable[str]) -> None:
        """Add libraries by name; those that do not exist are left out."""
        for file in self._find(Elf(needed=tuple(names)), Path("/")):
            self.add(Path(file))

    def _find(self, elf: Elf, at: Path) -> list[str]:
        paths = [] if elf.interpreter is None else [elf.interpreter]
        own = [folder.replace("$ORIGIN", str(at.parent)).replace("${ORIGIN}", str(at.parent)) for folder in elf.search]
        for name in elf.needed:
            places = (f"{folder}/{name}" for folder in (*own, *_library_folders()))
            path = next((place for place in places if Path(place).is_file()), None)
            paths += [] if path is None else [path]
        placed = {_without_links(path): os.path.realpath(path) for path in paths}
        fresh = [file for path, file in placed.items() if path not in self.found]
        self.found.update(placed)
        return fresh


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """List folders of libraries: those from which this process has loaded libraries, then the default ones."""
    loaded = []
    for line in Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines():
        path = line[line.find("/") :] if "/" in line else ""
        if ".so" in path and "/python" not in path and "site-packages" not in path:
            loaded.append(os.path.dirname(path))  # noqa: PTH120 - compared as text
    system = [folder for folder in dict.fromkeys(loaded) if folder.startswith(LIBRARY_FOLDERS)]
    return (*system, *LIBRARY_FOLDERS)


def _without_links(path: str) -> str:
    """Resolve the links in the folders of a path; the file itself may still be a link."""
    folder, _, name = path.rpartition("/")
    return f"{os.path.realpath(folder)}/{name}"


def _find_program(name: str) -> str | None:
    """Find a program that the phone can run: a script would need an interpreter that does not exist there."""
    for path in (SYSTEM_PATH, None):
        found = shutil.which(name, path=path)
        if found is not None and read_elf(Path(found)) is not None:
            return os.path.realpath(found)
    return None


def _find_toybox() -> dict[str, str]:
    """Find Android's own commands if they are installed: one program with many names, which it lists."""
    path = _find_program("toybox")
    if path is None:
        return {}
    names = subprocess.run([path], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout.split()
    return {name: path for name in TOOLS if name in names}


def _base_executable() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _find_runtime(known: Mapping[str, str]) -> tuple[str | None, dict[str, str], tuple[str, ...]]:
    """Find this session's Python: its executable, its standard library, and the libraries that both need."""
    executable, library = Path(_base_executable()), Path(sysconfig.get_path("stdlib"))
    if read_elf(executable) is None or not library.is_dir():
        return None, {}, ()
    place = f"{RUNTIME}/{library.parent.name}/{library.name}"
    needed = _Libraries()
    for path in (executable, *library.glob("lib-dynload/*.so")):
        if "_tkinter" not in path.name:  # it would add the libraries of a whole desktop
            needed.add(path)
    runtime = {f"{RUNTIME}/bin/{executable.name}": str(executable), place: str(library)}
    runtime |= {
        f"{RUNTIME}/needed/{path.rpartition('/')[2]}": file for path, file in needed.found.items() if path not in known
    }
    packages = [name for name in ("site-packages", "dist-packages") if (library / name).is_dir()]
    return f"{RUNTIME}/bin/{executable.name}", runtime, tuple(f"{place}/{name}" for name in packages)
