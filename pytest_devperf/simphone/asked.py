"""One call of an Android command, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_devperf.simphone.mishap import Mishap
from pytest_devperf.simphone.personality import Personality
from pytest_devperf.simphone.physics import State

FAILED = 255
"""What `cmd` returns where a service says -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call of a command, and all it may look at."""

    words: tuple[str, ...]
    """Its arguments, without its own name."""
    person: Personality
    mishap: Mishap
    state: State
    serial: str
    used_kib: int = 0
    """Space taken on the phone's storage."""
    free_kib: int | None = None
    """Space that this machine has for it; None: enough."""
    memory: Callable[[int], tuple[int, int, int] | None] = lambda _pid: None
    """Process id -> (PSS, RSS, swapped PSS) in KiB; None where there is no such process."""
    apps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Installed apps, each with the process ids under which it runs."""
    log: tuple[str, ...] = ()
    """Lines of the log."""

    def shifted(self) -> Asked:
        """The same call without its first word."""
        return replace(self, words=self.words[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the caller sees, and what becomes of the phone."""

    out: str = ""
    err: str = ""
    code: int = 0
    change: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the state that are other from now on."""
    launch: str | None = None
    """An app to be started."""
    extras: Mapping[str, str] = field(default_factory=dict)
    """What it is started with."""
    stop: str | None = None
    """An app to be ended."""
    logged: tuple[str, ...] | None = None
    """The log from now on; None leaves it."""
