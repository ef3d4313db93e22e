"""What is kept on a phone on purpose: pushed files by their hash, so that a runtime of 20 MB is sent once.

It is bounded by age and by size, and looked through at the end of every session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf.targets.android.adb.link import Link

ROOT = "/data/local/tmp/devperf"
"""Everything we leave on a phone lies under here. /data/local/tmp is the one place where the shell user may both
write and execute (/sdcard is mounted noexec)."""

STORE = f"{ROOT}/store"
"""Files by their hash, for all sessions and workstations."""

PARTIAL = re.compile(r"[0-9a-f]{64}\.[0-9a-f]{8}\.part")
"""A file while it is pushed: it must not pass for the whole one."""

STORE_DAYS = 7
"""Age from which a file that no process start used is removed: a weekly run still finds its runtime."""

STORE_BYTES = 512 << 20
"""Most that is kept: ten runtimes and models of 50 MB, a hundredth of a small phone's storage."""

S_PER_DAY = 86_400

REMOVED_AT_ONCE = 200
"""Files that one script removes: their names take 20 kB of the 64 kB that adb carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file of the store."""

    name: str
    size_bytes: int
    used_s: int
    """When a process start last used it, in seconds since 1970 by the phone's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What stays on the phone."""

    files: int
    size_bytes: int

    @property
    def words(self) -> str:
        """Both numbers in words."""
        files = f"{self.files} pushed file{'s' if self.files != 1 else ''}"
        return f"{files} ({self.size_bytes / (1 << 20):.1f} MiB)"


def parse_listing(text: str) -> tuple[int | None, tuple[StoredFile, ...]]:
    r"""Read the phone's time and its stored files.

    >>> parse_listing("now 86400\n60 12 " + "a" * 64 + "\n")[0]
    86400
    """
    now = re.search(r"^now ([0-9]{1,12})\r?$", text, re.MULTILINE)
    rows = re.findall(r"^([0-9]{1,12}) ([0-9]{1,15}) ([0-9a-f]{64})\r?$", text, re.MULTILINE)
    files = tuple(StoredFile(name=name, size_bytes=int(size), used_s=int(used)) for used, size, name in rows)
    return int(now[1]) if now else None, files


def choose_stale(
    files: Sequence[StoredFile], now_s: int | None, *, most_bytes: int = STORE_BYTES, days: int = STORE_DAYS
) -> tuple[StoredFile, ...]:
    """Choose the files to remove: those that are too old, then the least recently used until the rest fits.

    Args:
        files: All stored files.
        now_s: The phone's time; None: no file is too old.
        most_bytes: Most that may stay.
        days: Greatest age.
    """
    left = most_bytes
    stale: list[StoredFile] = []
    for file in sorted(files, key=lambda each: (each.used_s, each.name), reverse=True):
        old = now_s is not None and now_s - file.used_s > days * S_PER_DAY
        if old or file.size_bytes > left:
            stale.append(file)
        else:
            left -= file.size_bytes
    return tuple(stale)


def prune(link: Link) -> Kept:
    """Remove from a phone's store what is too old or too much.

    Returns:
        What stays.

    Raises:
        TargetError: The phone went away.
    """
    # A relative name: an empty store leaves the pattern as it is, which no listing matches.
    listing = link.script(
        f'echo "now $(date +%s)"; cd {STORE} 2>/dev/null && stat -c "%Y %s %n" *', doing="listing stored files"
    )
    now_s, files = parse_listing(listing.output)
    stale = choose_stale(files, now_s)
    gone: set[StoredFile] = set()
    for start in range(0, len(stale), REMOVED_AT_ONCE):
        some = stale[start : start + REMOVED_AT_ONCE]
        names = " ".join(f"{STORE}/{file.name}" for file in some)
        if link.script(f"rm -f {names}", doing="removing stored files").returncode == 0:
            gone.update(some)
    kept = [file for file in files if file not in gone]
    return Kept(files=len(kept), size_bytes=sum(file.size_bytes for file in kept))
