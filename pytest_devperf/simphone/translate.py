"""Paths of the phone in a text -> paths of the sandbox, and back in what is printed.

Neither root nor a mount is needed, and it is the same on every system; the price is told in the package's
documentation.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

TOP = ("data", "sdcard", "storage", "sys", "system", "vendor", "product", "odm", "mnt")
"""Folders of the phone's root that live in the sandbox."""

PROC = ("meminfo", "cpuinfo", "stat", "loadavg", "uptime", "version")
"""Files of `/proc` that speak of the machine; `/proc/PID` and `/proc/self` stay the real ones."""

_PATH = re.compile(rf"(?<![\w./\-+@%])/(?=(?:{'|'.join(TOP)})(?![\w.\-])|proc/(?:{'|'.join(PROC)})(?![\w.\-/]))")

WRITABLE = ("/data/local/tmp", "/sdcard", "/storage/emulated/0")
"""Where the shell user may write."""


def to_sandbox(text: str, root: Path) -> str:
    """Let every absolute path of the phone in a shell text lead into the sandbox."""
    return _PATH.sub(lambda _match: f"{root}/", text)


def sed_script(root: Path) -> str:
    """The same translation for `sed -E`, which knows no look-around.

    A mark stands for the folder until the end: it may itself begin like a path of the phone. Twice, because
    two paths may share the character between them.
    """
    mark, before, after = "\x01", "(^|[^\x01A-Za-z0-9_./+@%-])", r"([^A-Za-z0-9_.-]|$)"
    top = f"s#{before}/({'|'.join(TOP)}){after}#\\1{mark}/\\2\\3#g"
    proc = f"s#{before}/(proc/({'|'.join(PROC)}))([^A-Za-z0-9_./-]|$)#\\1{mark}/\\2\\4#g"
    return "\n".join([top, top, proc, proc, f"s#{mark}#{root}#g", ""])


def locate(path: str, root: Path) -> Path:
    """Place one path of the phone within the sandbox; `..` cannot leave it.

    Raises:
        OSError: The path cannot be (it holds a NUL).
    """
    if "\0" in path:
        raise OSError(22, "Invalid argument", path)
    inside = posixpath.normpath("/" + path).lstrip("/")
    return root / inside


def is_writable(path: str) -> bool:
    """Whether the shell user may write at this path of the phone."""
    plain = posixpath.normpath("/" + path.lstrip("/"))
    return any(plain == folder or plain.startswith(folder + "/") for folder in WRITABLE)


class Back:
    """Printed text with the sandbox's folder taken out again, piece by piece.

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
