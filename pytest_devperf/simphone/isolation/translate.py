"""Translate paths of the phone in commands to paths of a folder of this machine, and back in the output.

For machines that cannot isolate a phone. Every folder at the root belongs to the phone, including those that only this
machine has (`/home`): they do not exist on the phone. Programs, libraries, devices and `/proc/PID` are this machine's.
A path that a program constructs itself is not translated.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from pytest_devperf.simphone.isolation.layout import PROC

PHONES = ("data", "sdcard", "storage", "sys", "system", "vendor", "product", "odm", "mnt", "apex", "etc")
"""Folders at a phone's root."""

MACHINES = frozenset({"bin", "dev", "lib", "lib32", "lib64", "proc", "sbin", "usr"})
"""Folders at this machine's root that its programs need."""


@functools.cache
def root_folders() -> tuple[str, ...]:
    """List the folders at the root that are translated to the phone's folder."""
    here = (name for name in os.listdir("/") if re.fullmatch(r"[\w.-]+", name))  # noqa: PTH208 - only names are needed
    return (*PHONES, *sorted({*here} - MACHINES - {*PHONES}))


def to_sandbox(text: str, root: Path) -> str:
    """Translate every absolute path of the phone in a shell command."""
    return _pattern().sub(lambda _match: f"{root}/", text)


def sed_script(root: Path) -> str:
    """Return the same translation for `sed -E`, which has no look-around.

    A marker represents the folder until the end, since the folder may itself look like a path of the phone. The
    substitution runs twice, because two paths may share the character between them.
    """
    mark, before, after = "\x01", "(^|[^\x01A-Za-z0-9_./+@%-])", r"([^A-Za-z0-9_.-]|$)"
    names = "|".join(map(re.escape, root_folders()))
    top = f"s#{before}/({names}){after}#\\1{mark}/\\2\\3#g"
    proc = f"s#{before}/(proc/({'|'.join(PROC)}))([^A-Za-z0-9_./-]|$)#\\1{mark}/\\2\\4#g"
    return "\n".join([top, top, proc, proc, f"s#{mark}#{root}#g", ""])


class OutputTranslator:
    """Removes the folder from output again, piece by piece.

    A piece may end in the middle of the folder's name; that part is kept back until the next piece.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root).encode()
        self._kept = b""

    def feed(self, piece: bytes) -> bytes:
        """Translate the next piece, except an end that may be incomplete."""
        data, done, ready = self._kept + piece, 0, b""
        while (found := data.find(self._root, done)) >= 0:
            after = found + len(self._root)
            if after == len(data):  # the translation depends on whether a slash follows
                break
            ready += data[done:found] + b"/"
            done = after + data.startswith(b"/", after)
        rest = data[done:]
        self._kept = self._tail(rest)
        return ready + rest[: len(rest) - len(self._kept)]

    def end(self) -> bytes:
        """Translate the part that was kept back."""
        data, self._kept = self._kept, b""
        return b"/" if data == self._root else data

    def _tail(self, data: bytes) -> bytes:
        """Return the longest end of the data that may be the beginning of the folder's name."""
        longest = min(len(self._root), len(data))
        return next((data[-n:] for n in range(longest, 0, -1) if data.endswith(self._root[:n])), b"")


@functools.cache
def _pattern() -> re.Pattern[str]:
    names = "|".join(map(re.escape, root_folders()))
    return re.compile(rf"(?<![\w./\-+@%])/(?=(?:{names})(?![\w.\-])|proc/(?:{'|'.join(PROC)})(?![\w.\-/]))")
