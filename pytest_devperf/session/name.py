"""The name of a session."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass

SESSION_ID_BYTES = 4
"""Random bytes of a session's id: enough to distinguish the sessions of one second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionName:
    """What a session and its runs are known by."""

    id: str
    taken_at: str
    """When it began, in UTC."""

    @classmethod
    def new(cls) -> SessionName:
        """Name a session that begins now."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(id=secrets.token_hex(SESSION_ID_BYTES), taken_at=now)
