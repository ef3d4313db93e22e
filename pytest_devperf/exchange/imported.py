"""The content of a file of another tool, and the values in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from pytest_devperf.record.record import Commit
from pytest_devperf.targets.device import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The samples of one case."""

    samples_ns: tuple[float, ...]
    inner_loops: int = 1
    group: str | None = None
    extra_info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The content of a file of another tool."""

    tool: str
    cases: Mapping[str, Series]
    device: Device
    taken_at: str | None = None
    """UTC; None if the file does not contain it."""
    commit: Commit | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)


LONGEST_TIME = 64
"""Characters of a time: with a zone and nanoseconds, ISO 8601 has fewer."""


def utc(text: object) -> str | None:
    """Spell a time of another tool as ours are spelt; None if it is not a time with a zone.

    >>> utc("2026-11-29T21:15:03.5+01:00"), utc("yesterday"), utc(None)
    ('2026-11-29T20:15:03Z', None, None)
    """
    # Python 3.10 reads only three or six digits of a second, and no Z. Ours have none.
    plain = re.sub(r"\.\d{1,12}", "", str(text)[:LONGEST_TIME]).replace("Z", "+00:00")
    try:
        found = datetime.fromisoformat(plain)
        return found.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") if found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def required_text(value: object) -> str:
    """Require a text.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(value, str) or not value:
        raise TypeError(f"{type(value).__name__} in place of a name")
    return value


def optional_text(value: object) -> str | None:
    """Return a text; None if it is empty or anything else."""
    return value if isinstance(value, str) and value else None


def positive_whole(value: object) -> int | None:
    """Return a positive whole number; None for anything else."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62
    return value if isinstance(value, int) and whole else None
