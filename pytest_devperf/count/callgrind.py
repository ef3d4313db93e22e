"""Read what callgrind writes: one file per dump, and one per process at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pytest_devperf.untrusted import parse_whole

PREFIX = "callgrind"
"""Beginning of the names of its files: `callgrind.PID`, and `callgrind.PID.1` and so on for dumps."""

TOTALS = b"totals: "
"""Beginning of the last line of a whole file."""

TAIL_BYTES = 64
"""Bytes at the end of a file that hold that line. The rest, the count of each function, is not read: that would take
longer than to count."""


def out_file(folder: Path) -> str:
    """Return callgrind's option for the names of its files; `%p` becomes the process id."""
    # A percent sign in the folder's own name would be taken for such a pattern.
    return f"--callgrind-out-file={str(folder).replace('%', '%%')}/{PREFIX}.%p"


def parse_total(tail: bytes) -> int | None:
    r"""Read the instructions that a file counts in all; None if the file is not whole.

    >>> parse_total(b"fn=(1) main\n1 20\n\ntotals: 20\n"), parse_total(b"fn=(1) main\n1 20\n")
    (20, None)
    """
    lines = tail.splitlines()
    if not tail.endswith(b"\n") or not lines or not lines[-1].startswith(TOTALS):
        return None
    total = parse_whole(lines[-1].removeprefix(TOTALS).decode("ascii", "replace"))
    return total if total is not None and total >= 0 else None


def take_dumps(folder: Path) -> Iterator[int | None]:
    """Read the dumps of this process in order, and delete them."""
    found = {}
    for path in folder.glob(f"{PREFIX}.{os.getpid()}.*"):
        number = path.suffix.removeprefix(".")
        if number.isdigit():
            found[int(number)] = path
    for _, path in sorted(found.items()):
        yield _read_total(path)
        path.unlink()


def read_totals(folder: Path) -> list[int | None]:
    """Read the totals of all processes of a program that has ended."""
    return [_read_total(path) for path in sorted(folder.iterdir())]


def _read_total(path: Path) -> int | None:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return parse_total(file.read())
