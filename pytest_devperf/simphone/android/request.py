"""The request that a call of an Android command makes, and the response to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_devperf.simphone.state.mishap import Mishap
from pytest_devperf.simphone.state.personality import Personality
from pytest_devperf.simphone.state.physics import State

FAILED = 255
"""Return code of `cmd` if a service returns -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a command, with all state that it may read."""

    words: tuple[str, ...]
    """Its arguments, without its name."""
    person: Personality
    mishap: Mishap
    state: State
    serial: str
    used_kib: int = 0
    """Space used on the phone's storage."""
    free_kib: int | None = None
    """Free space on this machine; None: enough."""
    memory: Callable[[int], tuple[int, int, int] | None] = lambda _pid: None
    """Process id -> (PSS, RSS, swapped PSS) in KiB; None if there is no such process."""
    apps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Installed apps, each with the process ids of its running processes."""
    log: tuple[str, ...] = ()
    """Lines of the log."""

    def shifted(self) -> Request:
        """The same call without its first argument."""
        return replace(self, words=self.words[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The output of a call, and its effects on the phone."""

    out: str = ""
    err: str = ""
    code: int = 0
    change: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the state that change."""
    launch: str | None = None
    """An app to start."""
    extras: Mapping[str, str] = field(default_factory=dict)
    """The extras of that app."""
    stop: str | None = None
    """An app to stop."""
    logged: tuple[str, ...] | None = None
    """The new log; None: unchanged."""
