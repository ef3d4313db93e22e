"""What an interpreter that counts has to know of the valgrind that runs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderValgrind:
    """The valgrind that runs an interpreter which counts."""

    program: str
    version: str
    folder: str
    """Folder that it writes its counts to."""
