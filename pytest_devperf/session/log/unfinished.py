"""Find the logs of sessions that were killed, and claim one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from pytest_devperf.english import counted
from pytest_devperf.errors import StoreError, UsageError
from pytest_devperf.session.log.entries import Entry, LogHeader, decode_entry, decode_header, looks_of
from pytest_devperf.session.log.facts import changed_file
from pytest_devperf.session.log.file import read_log

ENDING = ".log"

MOST_LOGS = 10
"""Logs that are kept: each takes megabytes, and only the newest is resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A session that ended before it was through."""

    path: Path
    header: LogHeader
    entries: tuple[Entry, ...]
    whole_bytes: int
    """Size of its complete entries."""
    damaged: bool
    """Whether its last entry is incomplete."""

    @property
    def words(self) -> str:
        """Describe it for people."""
        measured = counted(len({entry.case for entry in self.entries}), "case")
        return f"the session of {self.header.taken_at} ({counted(len(self.entries), 'process start')} of {measured})"

    @property
    def latest_ns(self) -> int | None:
        """Time of its last reading, by its clock; None if there was none."""
        return max((look.at_ns for entry in self.entries for look in looks_of(entry)), default=None)


def read_unfinished(path: Path) -> Unfinished:
    """Read the log of a session.

    Raises:
        StoreError: It cannot be read, or another version wrote it.
    """
    content = read_log(path)
    if not content.records:
        raise StoreError(f"{path} ends before its first entry", "delete it")
    header, *entries = content.records
    return Unfinished(
        path=path,
        header=decode_header(header, str(path)),
        entries=tuple(decode_entry(entry, str(path)) for entry in entries),
        whole_bytes=content.whole_bytes,
        damaged=content.damaged,
    )


def find_logs(folder: Path) -> list[Path]:
    """List the logs in a folder, newest first: their names begin with the time."""
    try:
        return sorted((path for path in folder.iterdir() if path.suffix == ENDING), reverse=True)
    except OSError:
        return []


def claim(path: Path) -> FileLock | None:
    """Claim a log until this process ends, however it ends; None if another process has it."""
    lock = FileLock(lock_of(path), timeout=0)
    try:
        lock.acquire()
    except (Timeout, OSError, NotImplementedError):
        return None
    return lock


def lock_of(path: Path) -> Path:
    """Return the lock file of a log."""
    return path.with_suffix(".lock")


def drop(path: Path) -> None:
    """Delete a log and its lock."""
    for each in (path, lock_of(path)):
        with suppress(OSError):
            each.unlink()


def claim_newest(folder: Path | None) -> tuple[Unfinished, FileLock]:
    """Claim the newest session that was killed.

    Raises:
        UsageError: There is none.
        StoreError: It cannot be read.
    """
    for path in find_logs(folder) if folder is not None else ():
        lock = claim(path)
        if lock is None:
            continue  # it is still running
        try:
            return read_unfinished(path), lock
        except StoreError:
            lock.release()
            raise
    raise UsageError("--devperf-resume: every session of this folder finished", "leave the option out")


def advice(folder: Path, root: Path) -> str | None:
    """Report that a session can be resumed, and how; None if there is none that is worth it."""
    for path in find_logs(folder):
        lock = claim(path)
        if lock is None:
            continue
        try:
            found = read_unfinished(path)
        except StoreError as error:
            return str(error)
        finally:
            lock.release()
        if changed_file(found.header.facts, root) is None:
            return (
                f"{found.words} did not finish: the same command with --devperf-resume goes on with it; "
                f"delete {_near(path, root)} to drop it"
            )
        return None
    return None


def _near(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path


def sweep(folder: Path, *, most: int = MOST_LOGS) -> None:
    """Delete the oldest logs beyond a number, unless a session uses them."""
    for path in _unused(find_logs(folder)[most:]):
        drop(path)


def _unused(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        lock = claim(path)
        if lock is not None:
            lock.release()
            yield path
