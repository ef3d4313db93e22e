"""Find valgrind, and the command line and environment in which counts repeat."""

from __future__ import annotations

import os
import platform
import random
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.count.callgrind import out_file
from pytest_devperf.count.requests import CODE
from pytest_devperf.errors import Unsupported
from pytest_devperf.targets.ask import ask_program

HASH_SEED = "0"
"""The same for every count: another one moves the counts of sets and dictionaries of texts by up to 1 %."""

MALLOC_TUNABLES = (
    # Every block of up to 1 KiB comes from the thread's cache, whose path has the same length wherever the block lies.
    "glibc.malloc.tcache_count=65535",
    # The heap neither shrinks nor grows in small steps, and nothing is mapped apart from it.
    "glibc.malloc.trim_threshold=1073741824",
    "glibc.malloc.top_pad=67108864",
    "glibc.malloc.mmap_threshold=1073741824",
)
"""Settings of glibc's allocator with which a count hardly depends on where things lie in memory: with these, unchanged
code moves by at most 0.6 %, with the defaults by up to 4 %. Source: "Memory Allocation Tunables", glibc manual."""

BALLAST = "DEVPERF_BALLAST"
"""Variable whose length moves the stack and the heap of what is started, and with them what lies where."""

BALLAST_CHARACTERS = 4096
"""Longest ballast: a page, so that everything lies elsewhere within one."""

SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that keep numeric libraries on one thread: threads that wait for each other count a random time."""

TIMEOUT_S = 60.0
"""Longest start of `valgrind --version`, on a cold network file system."""

INSTALL = (
    "install it (apt-get install valgrind on Debian and Ubuntu, dnf install valgrind on Fedora; no other "
    "privilege is needed, nor any in a container)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Valgrind:
    """A valgrind that can count."""

    program: str
    """Its absolute path."""
    version: str
    """As it prints it: `valgrind-3.19.0`."""

    def counting(self, folder: Path) -> tuple[str, ...]:
        """Return the words that stand before a program that counts parts of itself, by client requests.

        Args:
            folder: Receives the counts.
        """
        return (*self._callgrind, "--instr-atstart=no", "--collect-atstart=no", out_file(folder))

    def counting_whole(self, folder: Path) -> tuple[str, ...]:
        """Return the words that stand before a program that is counted from its start to its end, with its children.

        Args:
            folder: Receives the counts.
        """
        return (*self._callgrind, "--trace-children=yes", out_file(folder))

    @property
    def _callgrind(self) -> tuple[str, ...]:
        # Options of ~/.valgrindrc and VALGRIND_OPTS would count something else.
        return self.program, "--command-line-only=yes", "-q", "--tool=callgrind"


def find_valgrind() -> Valgrind:
    """Find valgrind on PATH.

    Raises:
        Unsupported: There is none, or it cannot count here; the message names what to install, or the reason.
    """
    if sys.platform == "darwin":
        raise Unsupported(
            "instructions are counted on Linux only: valgrind has no version for current macOS",
            "count in a Linux container, or measure time here",
        )
    if sys.platform != "linux":
        raise Unsupported(
            f"instructions are counted on Linux only: valgrind has no version for {platform.system() or sys.platform}",
            "count under WSL or in a Linux container, or measure time here",
        )
    if platform.machine() not in CODE:
        raise Unsupported(f"instructions are counted on {' and '.join(CODE)} only, not on {platform.machine()}")
    program = shutil.which("valgrind")
    if program is None:
        raise Unsupported("instructions are counted by valgrind, which is not on PATH", INSTALL)
    return Valgrind(program=program, version=_version_of(program))


def _version_of(program: str) -> str:
    try:
        asked = ask_program([program, "--version"], timeout_s=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unsupported(f"{program} does not run: {error}") from None
    version = asked.out.strip()
    if asked.code or not version.startswith("valgrind-"):
        raise Unsupported(f"{program} is no valgrind that works: {asked.end}")
    return version


def counting_variables(seed: int = 0) -> Mapping[str, str]:
    """Return the variables that are set for everything that is counted.

    Args:
        seed: Of the memory layout.
    """
    length = random.Random(seed).randrange(1, BALLAST_CHARACTERS)  # noqa: S311 - a size, not a secret
    found = {"PYTHONHASHSEED": HASH_SEED, **dict.fromkeys(SINGLE_THREADED, "1"), BALLAST: "x" * length}
    if is_glibc():
        found["GLIBC_TUNABLES"] = ":".join(MALLOC_TUNABLES)
        if not _is_free_threaded():  # it refuses to start with another allocator than its own
            found["PYTHONMALLOC"] = "malloc"
    return found


def allocator_name() -> str:
    """Name the allocator that counting uses: `tcache` where it is set up so that counts repeat."""
    return "tcache" if "PYTHONMALLOC" in counting_variables() else "default"


def is_glibc() -> bool:
    """Return whether the C library is glibc, whose allocator has tunables."""
    return libc_name().startswith("glibc")


def libc_name() -> str:
    """Name the C library with its version."""
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION")  # "glibc 2.36"; musl knows no such name
    except (AttributeError, OSError, ValueError):
        name = None
    return name or "unknown"


def _is_free_threaded() -> bool:
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
