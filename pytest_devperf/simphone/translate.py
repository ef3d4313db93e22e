"""Paths of the phone in a text -> paths of a folder of this machine, and back in what is printed.

This is for machines that cannot isolate a phone. Every folder at the root is the phone's, also those that only this
machine has (`/home`): they are missing on the phone. Programs, libraries, devices and `/proc/PID` stay this machine's.
A path that a program makes up by itself is not translated.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from pytest_devperf.simphone.layout import PROC

PHONES = ("data", "sdcard", "storage", "sys", "system", "vendor", "product", "odm", "mnt", "apex", "etc")
"""Folders of a phone's root."""

MACHINES = frozenset({"bin", "dev", "lib", "lib32", "lib64", "proc", "sbin", "usr"})
"""Folders of this machine's root that its programs need."""


@functools.cache
def tops() -> tuple[str, ...]:
    """List the folders of the root that lead into the phone's folder."""
    here = (name for name in os.listdir("/") if re.fullmatch(r"[\w.-]+", name))  # noqa: PTH208 - names are wanted
    return (*PHONES, *sorted({*here} - MACHINES - {*PHONES}))


def to_sandbox(text: str, root: Path) -> str:
    """Let every absolute path of the phone in a shell text lead into its folder."""
    return _pattern().sub(lambda _match: f"{root}/", text)


def sed_script(root: Path) -> str:
    """Write the same translation for `sed -E`, which knows no look-around.

    A mark stands for the folder until the end: it may itself begin like a path of the phone. Twice, because
    two paths may share the character between them.
    """
    mark, before, after = "\x01", "(^|[^\x01A-Za-z0-9_./+@%-])", r"([^A-Za-z0-9_.-]|$)"
    names = "|".join(map(re.escape, tops()))
    top = f"s#{before}/({names}){after}#\\1{mark}/\\2\\3#g"
    proc = f"s#{before}/(proc/({'|'.join(PROC)}))([^A-Za-z0-9_./-]|$)#\\1{mark}/\\2\\4#g"
    return "\n".join([top, top, proc, proc, f"s#{mark}#{root}#g", ""])


class Back:
    """Printed text with the folder taken out again, piece by piece.

    A piece may end in the middle of the folder's name; that end is kept back until the next one.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root).encode()
        self._kept = b""

    def feed(self, piece: bytes) -> bytes:
        """Translate the next piece, as far as it is certain."""
        data, done, ready = self._kept + piece, 0, b""
        while (found := data.find(self._root, done)) >= 0:
            after = found + len(self._root)
            if after == len(data):  # whether a slash follows decides what becomes of it
                break
            ready += data[done:found] + b"/"
            done = after + data.startswith(b"/", after)
        rest = data[done:]
        self._kept = self._tail(rest)
        return ready + rest[: len(rest) - len(self._kept)]

    def end(self) -> bytes:
        """Translate what was kept back."""
        data, self._kept = self._kept, b""
        return b"/" if data == self._root else data

    def _tail(self, data: bytes) -> bytes:
        """The longest end of the data that the folder's name may begin with."""
        longest = min(len(self._root), len(data))
        return next((data[-n:] for n in range(longest, 0, -1) if data.endswith(self._root[:n])), b"")


@functools.cache
def _pattern() -> re.Pattern[str]:
    names = "|".join(map(re.escape, tops()))
    return re.compile(rf"(?<![\w./\-+@%])/(?=(?:{names})(?![\w.\-])|proc/(?:{'|'.join(PROC)})(?![\w.\-/]))")
