"""Build file names from words that people choose: labels and device models."""

from __future__ import annotations

import hashlib
import re

from pytest_devperf.errors import StoreError
from pytest_devperf.record.record import DeviceRecord, Run

_LONGEST = 48
"""Characters kept of a word. Device folder, label folder and file name together stay far below the 255 bytes of a name,
and leave room within the 260 characters of a Windows path."""

_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
"""Names that Windows reserves for devices, with any file extension.

Source: Microsoft, "Naming Files, Paths, and Namespaces".
"""

_SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)

_TIMED = re.compile(r"\A(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)(?:\.(\d{1,9}))?-[\w-]+\.json\Z", re.ASCII)


def slug(text: str) -> str:
    """Reduce a text to letters, digits, dots, dashes and underscores; different texts may give the same word.

    >>> slug("Pixel 8 Pro (unlocked)")
    'pixel-8-pro-unlocked'
    """
    return re.sub(r"[^a-z0-9._]+", "-", text.lower())[:_LONGEST].strip("-._")


def safe_name(text: str) -> str:
    """Name a folder after a word, so that different words get different folders on every file system.

    A word that has to be changed, or that contains capitals (some file systems ignore case), gets a hash
    of the original.

    >>> safe_name("release-1.2"), safe_name("../Main")
    ('release-1.2', 'main-947c9302')
    """
    name = slug(text)
    if name == text and name.partition(".")[0] not in _RESERVED:
        return name
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{name or 'label'}-{digest}" if name.partition(".")[0] not in _RESERVED else f"label-{digest}"


def device_name(device: DeviceRecord) -> str:
    """Name the folder of a device: words for people, and the fingerprint that identifies it."""
    words = (slug(device.kind), slug(device.model or device.soc or "unknown"), safe_name(device.fingerprint))
    return "-".join(word for word in words if word)


def file_name(run: Run, newest: str | None) -> str:
    """Name a run's file after its time, or after the newest one of its label if that is not earlier.

    Names then sort in the order of saving, even with two saves in one second or a clock that was set back.

    Args:
        run: The run.
        newest: Name of the newest file of its label.

    Raises:
        StoreError: Its time is not valid.
    """
    if not _SECOND.match(run.taken_at):
        raise StoreError(f"a run taken at {run.taken_at!r} cannot be saved", "a time is written 2026-11-29T20:15:03Z")
    stamp, count = f"{run.taken_at[:19].replace(':', '-')}Z", 0
    latest = age_of(newest) if newest else None
    if latest is not None and latest[0] >= stamp:
        stamp, count = latest[0], latest[1] + 1
    return f"{stamp}{f'.{count}' if count else ''}-{re.sub(r'[^A-Za-z0-9]', '', run.id)[:12] or 'run'}.json"


def age_of(name: str) -> tuple[str, int] | None:
    """Return the sort key of a file among the runs of a label; None for a file that is not a run.

    >>> age_of("2026-11-29T20-15-03Z.2-9f3c.json"), age_of("README.md")
    (('2026-11-29T20-15-03Z', 2), None)
    """
    found = _TIMED.match(name)
    return (found[1], int(found[2] or 0)) if found else None
