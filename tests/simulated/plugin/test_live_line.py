"""On a terminal one line shows what is measured or waited for, and how warm the phone is."""

from __future__ import annotations

import os
import re
import struct
import sys
from typing import Any

import pytest

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

Session = Any
"""The fixtures' own class; conftest files are not imported."""


def read_terminal(descriptor: int) -> str:
    """Read all that is written to a terminal until its last writer is gone."""
    seen = b""
    try:
        while chunk := os.read(descriptor, 65536):
            seen += chunk
    except OSError:  # how Linux tells the end
        pass
    return seen.decode("utf-8", "replace")


def test_temperature_is_shown_while_measuring_and_while_cooling(tool: Session) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))  # rows, columns, pixels
    arguments = [*tool.arguments("--devperf-cooldown=10"), "-p", "no:cacheprovider"]
    with tool.pytester.popen([sys.executable, "-m", "pytest", *arguments], stdout=theirs, stderr=theirs) as session:
        os.close(theirs)
        shown = read_terminal(ours)
    os.close(ours)

    assert session.returncode == 0, shown
    flat = re.sub(r"\s+", " ", shown)
    assert re.search(r"cooling down: \d+\.\d °C, .*s waited, \d+ s left at most", flat)
    assert re.search(r"start 1: test_tool\.py::test_tool, \d+\.\d °C", flat)
