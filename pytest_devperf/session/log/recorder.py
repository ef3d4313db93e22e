"""Write the log of a session while it measures, and give what an earlier session wrote."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.errors import UsageError
from pytest_devperf.session.log.entries import Entry, FirstEntry, LogHeader, SessionFacts, earlier, encode_entry
from pytest_devperf.session.log.file import LogFile
from pytest_devperf.session.log.unfinished import (
    ENDING,
    Unfinished,
    advice,
    claim,
    claim_newest,
    drop,
    find_logs,
    read_unfinished,
    sweep,
)
from pytest_devperf.session.name import SessionName
from pytest_devperf.store.writing import reason

if TYPE_CHECKING:
    from filelock import FileLock


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFolder:
    """The folder of logs."""

    path: Path
    make: Callable[[], object]
    """Creates it."""
    root: Path
    """The root folder of the tests."""


@dataclass(slots=True, kw_only=True)
class SessionLog:
    """The log of a session: one entry for each process start of a case, so that a killed session loses only one."""

    name: SessionName
    seed: int
    shuffle_seed: Callable[[], int | None] = lambda: None
    """Gives the seed of a plugin that shuffles tests and seeds `random`."""
    folder: LogFolder | None = None
    """None: the session keeps no log, because it has nowhere to keep it."""
    resumed: Unfinished | None = None
    """The session that this one goes on with."""
    warn: Callable[[str], None] = field(default=lambda _: None)
    lost_device: bool = False
    """Whether a device went away: what it failed is measured again if the session is resumed."""
    _lock: FileLock | None = None
    _file: LogFile | None = None
    _facts: SessionFacts | None = None
    _path: Path | None = None
    _known: dict[str, deque[Entry]] = field(default_factory=dict)

    # -- what an earlier session measured -----------------------------------------------------------

    def identify(self, facts: SessionFacts, refuse: Callable[[SessionFacts, SessionFacts], str | None]) -> None:
        """Note what identifies this session, and refuse to go on with another one.

        Args:
            facts: What identifies it.
            refuse: Describes what differs between the session to resume and this one.

        Raises:
            UsageError: Something differs.
        """
        self._facts = facts
        if self.resumed is not None:
            words = refuse(self.resumed.header.facts, facts)
            if words is not None:
                raise cannot_resume(self.resumed, words)

    def load(self, now_ns: int) -> None:
        """Take up the entries of the resumed session.

        Args:
            now_ns: The time by the session's clock; the entries are moved before it.
        """
        assert self.resumed is not None
        ahead_ns = max(0, (self.resumed.latest_ns or now_ns) - now_ns)
        for entry in self.resumed.entries:
            self._known.setdefault(entry.case, deque()).append(earlier(entry, ahead_ns) if ahead_ns else entry)

    def next_of(self, case_id: str) -> Entry | None:
        """Give the next start of a case that an earlier session measured, once; None if there is none left."""
        known = self._known.get(case_id)
        return known.popleft() if known else None

    @property
    def firsts(self) -> list[FirstEntry]:
        """The first start of every case that an earlier session measured."""
        return [entry for entry in self.resumed.entries if isinstance(entry, FirstEntry)] if self.resumed else []

    # -- writing ----------------------------------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Write an entry; a log that cannot be written is given up, and the session goes on."""
        if self.folder is None or self._facts is None:
            return
        try:
            if self._file is None:
                self._open(self.folder)
            assert self._file is not None
            self._file.append(encode_entry(entry))
        except OSError as error:
            self.warn(f"{self._path} cannot be written ({reason(error)}), so this session cannot be resumed")
            self.folder = None
            self.close()

    def _open(self, folder: LogFolder) -> None:
        if self.resumed is not None:
            self._path = self.resumed.path
            self._file = LogFile(self._path, whole_bytes=self.resumed.whole_bytes)
            return
        assert self._facts is not None
        self._path = folder.path / f"{self.name.taken_at.replace(':', '-')}-{self.name.id}{ENDING}"
        folder.make()
        sweep(folder.path)
        self._lock = claim(self._path)
        self._file = LogFile(self._path)
        header = LogHeader(
            session_id=self.name.id,
            taken_at=self.name.taken_at,
            seed=self.seed,
            shuffle_seed=self.shuffle_seed(),
            facts=self._facts,
        )
        self._file.begin(encode_entry(header))

    def end(self, *, whole: bool) -> str | None:
        """End the session: without anything left to do, its log is deleted.

        Returns:
            How to go on with it; None if there is nothing to go on with.
        """
        path = self._path or (self.resumed.path if self.resumed is not None else None)
        self.close()
        if path is None or self.folder is None:
            return None
        if not whole:
            return "what was measured is kept: the same command with --devperf-resume goes on with it"
        drop(path)
        self._drop_superseded(self.folder)
        return None

    def _drop_superseded(self, folder: LogFolder) -> None:
        """Delete the logs of sessions that measured the same: this one has brought them to their end."""
        for path in find_logs(folder.path):
            lock = claim(path)
            if lock is None:
                continue
            with suppress(UsageError):
                if read_unfinished(path).header.facts == self._facts:
                    drop(path)
            lock.release()

    def close(self) -> None:
        """Close the log, so that another session can go on with it."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # -- words ------------------------------------------------------------------------------------

    def header(self) -> str | None:
        """Describe the session that is resumed, or one that could be."""
        if self.resumed is not None:
            cut = "; its last entry is incomplete and is measured again" if self.resumed.damaged else ""
            return f"resumes {self.resumed.words}{cut}"
        return advice(self.folder.path, self.folder.root) if self.folder is not None else None


def open_log(
    folder: LogFolder | None,
    *,
    resume: bool,
    seed: int,
    shuffle_seed: Callable[[], int | None],
    warn: Callable[[str], None],
) -> SessionLog:
    """Open the log of a session; a session that is resumed keeps its name and its seeds.

    Args:
        folder: The folder of logs; None: there is none.
        resume: Whether to go on with the newest session that was ended.
        seed: The seed of a new session.
        shuffle_seed: Gives the seed of a plugin that shuffles tests.
        warn: Warns the user about a log that cannot be written.

    Raises:
        UsageError: There is no session to resume.
    """
    if not resume:
        name = SessionName.new()
        return SessionLog(name=name, seed=seed, shuffle_seed=shuffle_seed, folder=folder, warn=warn)
    if folder is None:
        raise UsageError("--devperf-resume: sessions are kept in pytest's cache", "leave out -p no:cacheprovider")
    found, lock = claim_newest(folder.path)
    header = found.header
    return SessionLog(
        name=SessionName(id=header.session_id, taken_at=header.taken_at),
        seed=header.seed,
        shuffle_seed=shuffle_seed,
        folder=folder,
        resumed=found,
        warn=warn,
        _lock=lock,
    )


def cannot_resume(found: Unfinished, why: str) -> UsageError:
    """Make the error of a session that cannot be resumed."""
    return UsageError(
        f"--devperf-resume: {why}, so {found.words} cannot be resumed", "undo that, or measure anew without the option"
    )
