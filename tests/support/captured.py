"""Captured output of real phones and tools."""

from __future__ import annotations

import os
from pathlib import Path

OWN = Path(__file__).parents[1] / "captured" / "data"
"""Captures whose licences allow it; the README names their sources."""


def captured(name: str) -> bytes:
    """Read a capture, from the folder DEVPERF_CAPTURED if it contains it, else from this repository."""
    other = Path(os.environ.get("DEVPERF_CAPTURED", OWN), name)
    return (other if other.is_file() else OWN / name).read_bytes()


def list_captured(kind: str) -> set[str]:
    """List the names of all that there are of a kind, in both folders."""
    folders = (OWN / kind, Path(os.environ.get("DEVPERF_CAPTURED", OWN), kind))
    return {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
