"""Files that stay on a phone on purpose, named by hash, so that a runtime of 20 MB is sent only once.

The store is limited by age and size, and pruned at the end of every session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf.targets.android.adb.link import Link

ROOT = "/data/local/tmp/devperf"
"""Everything that is left on a phone lies in this folder. /data/local/tmp is the only place in which the shell user may
both write and execute (/sdcard is mounted noexec)."""

STORE = f"{ROOT}/store"
"""Files by hash, for all sessions and workstations."""

PARTIAL = re.compile(r"[0-9a-f]{64}\.[0-9a-f]{8}\.part")
"""A file during its push: its name differs, so that it is never taken for the complete file."""

STORE_DAYS = 7
"""Days without use after which a file is removed: a weekly run still finds its runtime."""

STORE_BYTES = 512 << 20
"""Size limit of the store: ten runtimes and models of 50 MB, a hundredth of a small phone's storage."""

S_PER_DAY = 86_400

REMOVED_AT_ONCE = 200
"""Files that one script removes: their names take 20 kB, and adb allows 64 kB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file of the store."""

    name: str
    size_bytes: int
    used_s: int
    """When a process start last used it, in seconds since 1970 on the phone's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The files that stay on the phone."""

    files: int
    size_bytes: int

    @property
    def words(self) -> str:
        """Both numbers in words."""
        files = f"{self.files} pushed file{'s' if self.files != 1 else ''}"
        return f"{files} ({self.size_bytes / (1 << 20):.1f} MiB)"


def parse_listing(text: str) -> tuple[int | None, tuple[StoredFile, ...]]:
    r"""Parse the phone's time and its stored files.

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
    """Choose the files to remove: those that are too old, then the least recently used until the others fit.

    Args:
        files: All stored files.
        now_s: The phone's time; None: no file is too old.
        most_bytes: Size limit.
        days: Age limit.
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
    """Remove files from a phone's store that are too old or exceed the size limit.

    Returns:
        The files that stay.

    Raises:
        TargetError: The phone is gone.
    """
    # A relative pattern: in an empty store it stays as it is, and parsing ignores it.
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
