"""Read from an ELF file which libraries a program of this machine needs."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"\x7fELF"

CLASS_64, LITTLE_ENDIAN = 2, 1
"""Values of the bytes 4 and 5 of the header. Source for all of this: elf(5)."""

LOAD, DYNAMIC, INTERPRETER = 1, 2, 3
"""Kinds of program headers."""

END, NEEDED, STRINGS, RPATH, RUNPATH = 0, 1, 5, 15, 29
"""Kinds of entries of the dynamic section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """A program or library."""

    interpreter: str | None = None
    """The loader that starts it; None for a library and for a statically linked program."""
    needed: tuple[str, ...] = ()
    """Names of libraries."""
    search: tuple[str, ...] = ()
    """Folders in which it looks for them first; `$ORIGIN` is its own folder."""


def read_elf(path: Path) -> Elf | None:
    """Read a file; return None if it is not an ELF file of this kind of machine, or cannot be read."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parse(data)
    except (OSError, ValueError, IndexError, OverflowError, struct.error):  # all errors that a damaged file can cause
        return None


def _parse(data: mmap.mmap) -> Elf | None:
    if data[:4] != MAGIC or data[4] != CLASS_64 or data[5] != LITTLE_ENDIAN:
        return None
    (headers_at,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQ", data, headers_at + size * number) for number in range(count)]
    loads = [(address, offset, length) for kind, _, offset, address, _, length in headers if kind == LOAD]
    interpreter = next((_text(data, offset) for kind, _, offset, *_ in headers if kind == INTERPRETER), None)
    dynamic = next(((offset, length) for kind, _, offset, _, _, length in headers if kind == DYNAMIC), None)
    if dynamic is None:
        return Elf(interpreter=interpreter)
    entries = []
    for at in range(dynamic[0], dynamic[0] + dynamic[1], 16):
        tag, value = struct.unpack_from("<QQ", data, at)
        if tag == END:
            break
        entries.append((tag, value))
    strings = next((_offset_of(value, loads) for tag, value in entries if tag == STRINGS), 0)
    named = {
        tag: [_text(data, strings + value) for kind, value in entries if kind == tag]
        for tag in (NEEDED, RPATH, RUNPATH)
    }
    paths = (*named[RPATH], *named[RUNPATH])
    return Elf(
        interpreter=interpreter,
        needed=tuple(named[NEEDED]),
        search=tuple(folder for path in paths for folder in path.split(":") if folder),
    )


def _offset_of(address: int, loads: list[tuple[int, int, int]]) -> int:
    """Convert an address to an offset in the file."""
    return next((offset + address - start for start, offset, length in loads if start <= address < start + length), 0)


def _text(data: mmap.mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode("utf-8", "surrogateescape")
