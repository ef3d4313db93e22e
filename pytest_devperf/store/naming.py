"""File names out of words that people choose: labels and device models."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 48
"""Characters kept of a word: device folder, label folder and file name stay together far below the 255
bytes of a name and leave room under the 260 characters of a Windows path."""

_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
"""Names Windows takes for devices, with any ending.

Source: Microsoft, "Naming Files, Paths, and Namespaces".
"""

_TIMED = re.compile(r"\A(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)(?:\.(\d+))?-[\w-]+\.json\Z", re.ASCII)


def slug(text: str) -> str:
    """Spell a word with letters, digits, dots, dashes and underscores alone; other words may come out alike.

    >>> slug("Pixel 8 Pro (unlocked)")
    'pixel-8-pro-unlocked'
    """
    return re.sub(r"[^a-z0-9._]+", "-", text.lower())[:_LONGEST].strip("-._")


def safe_name(text: str) -> str:
    """Name a folder after a word so that different words get different folders on every file system.

    A word that has to be changed, and one with capitals (some file systems ignore case), carries a hash
    of the original.

    >>> safe_name("release-1.2"), safe_name("../Main")
    ('release-1.2', 'main-947c9302')
    """
    name = slug(text)
    if name == text and name.partition(".")[0] not in _RESERVED:
        return name
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{name or 'label'}-{digest}" if name.partition(".")[0] not in _RESERVED else f"label-{digest}"


def time_name(taken_at: str) -> str:
    """Spell a time so that it may stand in a file name everywhere and sorts by age.

    >>> time_name("2026-11-29T20:15:03Z")
    '2026-11-29T20-15-03Z'
    """
    return taken_at.replace(":", "-")


def age_of(name: str) -> tuple[str, int] | None:
    """Tell where a file stands among the runs of a label; None for a file that is no run.

    >>> age_of("2026-11-29T20-15-03Z.2-9f3c.json"), age_of("README.md")
    (('2026-11-29T20-15-03Z', 2), None)
    """
    found = _TIMED.match(name)
    return (found[1], int(found[2] or 0)) if found else None
