"""Outputs of real phones and tools."""

from __future__ import annotations

import os
from pathlib import Path

OWN = Path(__file__).parents[1] / "captured" / "data"
"""Those whose licences allow it; its README says where they come from."""


def captured(name: str) -> bytes:
    """Read one, from the folder that DEVPERF_CAPTURED names if it holds it, else from ours."""
    other = Path(os.environ.get("DEVPERF_CAPTURED", OWN), name)
    return (other if other.is_file() else OWN / name).read_bytes()


def list_captured(kind: str) -> set[str]:
    """List the names of all that there are of a kind, in both folders."""
    folders = (OWN / kind, Path(os.environ.get("DEVPERF_CAPTURED", OWN), kind))
    return {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
