"""The undo journal: a session's changes on a phone, kept on both machines until the phone shows the undo."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from pytest_devperf.errors import TargetError
from pytest_devperf.sensor.batch import format_batch, split_batch
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.file_store import PARTIAL, ROOT, STORE
from pytest_devperf.targets.android.phone.lease import Holder, parse_holder
from pytest_devperf.targets.android.phone.limits import Limits, format_limits, parse_limits
from pytest_devperf.targets.android.phone.work_folder import WORKING_FOLDER
from pytest_devperf.targets.android.setup_folder import setup_folder, unwritable

ON_PHONE = f"{ROOT}/changed.properties"
"""Properties, one `key=value` per line."""

SETTING = re.compile("[0-9]{1,3}|null")
"""Values of the stay-awake setting that can be restored: a bit for each way of charging, or not set."""

HOST_DIGITS = 12
"""Hex digits kept of the hash of a workstation's name: they are only used for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of one session, and its identity."""

    pinned: bool = False
    """Whether fixed-performance mode was requested."""
    held: Mapping[str, Limits] = field(default_factory=dict)
    """Clock limits that appeared with it, by policy; empty until they were read."""
    stay_on: str | None = None
    """Earlier value of `stay_on_while_plugged_in` (`null`: not set); None: it was not changed."""
    holder: Holder | None = None
    """The process on the phone that lives as long as the session."""
    host: str = ""
    """Hash of the workstation's name, only for messages."""
    pid: int = 0
    """Process on the workstation, only for messages."""

    @property
    def empty(self) -> bool:
        """Whether nothing has to be undone."""
        return not self.pinned and self.stay_on is None

    @property
    def session(self) -> str:
        """The session in words."""
        if self.host == this_host():
            return f"another session (process {self.pid})" if self.pid != os.getpid() else "this session"
        return "another computer's session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The content of our folder on a phone before a session begins."""

    changes: Changes | None
    litter: tuple[str, ...]
    """Working folders and partly pushed files, as paths on the phone."""


def this_host() -> str:
    """Identify this workstation without its name."""
    return hashlib.sha256(f"pytest-devperf host:{platform.node()}".encode()).hexdigest()[:HOST_DIGITS]


def format_changes(changes: Changes) -> str:
    """Format a journal as properties."""
    holder = changes.holder
    words = {
        "pinned": str(changes.pinned).lower(),
        "held": format_limits(changes.held) or None,
        "stay_on": changes.stay_on,
        "holder": f"{holder.pid} {holder.start_ticks} {holder.boot}" if holder is not None else None,
        "host": changes.host or None,
        "pid": changes.pid or None,
    }
    return "".join(f"{key}={value}\n" for key, value in words.items() if value is not None)


def parse_changes(text: str) -> Changes | None:
    r"""Parse properties; None if they are not a journal.

    The values go back into commands, so each one must have the form in which it was written.

    >>> parse_changes("pinned=true\nstay_on=7\n")
    Changes(pinned=True, held={}, stay_on='7', holder=None, host='', pid=0)
    """
    words = dict(line.split("=", 1) for line in text.replace("\r", "").splitlines() if "=" in line)
    if "pinned" not in words:
        return None
    stay_on, pid = words.get("stay_on", ""), words.get("pid", "")
    return Changes(
        pinned=words["pinned"] == "true",
        held=parse_limits(words.get("held", "")),
        stay_on=stay_on if SETTING.fullmatch(stay_on) else None,
        holder=parse_holder(words.get("holder", "")),
        host=words.get("host", ""),
        pid=int(pid) if re.fullmatch("[0-9]{1,9}", pid) else 0,
    )


class UndoJournal:
    """The undo journal of one phone, on both machines: either copy may be lost."""

    def __init__(self, link: Link, unit: str | None) -> None:
        """Prepare the journal, without reading it.

        Args:
            link: The phone.
            unit: Hash of this phone's identity; None: nothing is kept on this machine.
        """
        self._link = link
        self._file: Path | None = setup_folder() / "changed" / f"{unit}.properties" if unit else None

    def read(self) -> Left:
        """Read the leftovers of an earlier session, of any workstation.

        Raises:
            TargetError: The phone is gone.
        """
        probes = {
            "journal": f"[ ! -e {ON_PHONE} ] || cat {ON_PHONE}",
            "root": f"ls -1 {ROOT}",
            "store": f"ls -1 {STORE}",
        }
        batch = split_batch(
            self._link.script(format_batch(probes), doing="looking for leftovers").output, tuple(probes)
        )
        if not batch.complete:
            raise TargetError(f"{self._link.name} cut its answer off while looking for leftovers", "run again")
        if batch.answers["journal"].rc != 0:
            raise TargetError(
                f"{self._link.name} has a journal of changes that cannot be read ({_reason(batch.text('journal'))})",
                "run `adb root`, then devperf unpin",
            )
        folders = [name for name in batch.text("root").split() if WORKING_FOLDER.fullmatch(name)]
        files = [name for name in batch.text("store").split() if PARTIAL.fullmatch(name)]
        return Left(
            changes=parse_changes(batch.text("journal")) or self._own(),
            litter=(*(f"{ROOT}/{name}" for name in folders), *(f"{STORE}/{name}" for name in files)),
        )

    def begin(self, changes: Changes) -> bool:
        """Write a new session's journal before its first change; False if another session was first.

        Raises:
            UsageError: This machine's folder is not writable.
            TargetError: The phone's folder is not writable, or the phone is gone.
        """
        self._write_own(changes)
        return self._write(changes, unless_there=True)

    def write(self, changes: Changes) -> None:
        """Write this session's journal again.

        Raises:
            UsageError: This machine's folder is not writable.
            TargetError: The phone's folder is not writable, or the phone is gone.
        """
        self._write_own(changes)
        self._write(changes, unless_there=False)

    def clear(self) -> None:
        """Remove the journal, once everything is undone.

        Raises:
            TargetError: The phone is gone, or keeps the file; both copies stay.
        """
        done = self._link.script(f"rm -f {ON_PHONE}", doing="removing the undo journal")
        if done.returncode != 0:
            raise TargetError(
                f"{self._link.name} does not remove {ON_PHONE} ({_reason(done.error_output)})", "restart it"
            )
        if self._file is not None:
            with contextlib.suppress(OSError):  # its changes are undone, and undoing them again is harmless
                self._file.unlink(missing_ok=True)

    def _write(self, changes: Changes, *, unless_there: bool) -> bool:
        guard = "set -C; " if unless_there else ""
        done = self._link.script(
            f"mkdir -p {ROOT} && ( {guard}printf %s {quote(format_changes(changes))} >{ON_PHONE} ) || "
            # A full disk leaves an empty file.
            f"{{ if [ -s {ON_PHONE} ]; then echo taken; else rm -f {ON_PHONE}; fi; false; }}",
            doing="writing the undo journal",
        )
        if done.returncode == 0:
            return True
        if unless_there and done.output.strip() == "taken":
            return False
        raise TargetError(
            f"{self._link.name} has no writable {ROOT}, which records every change first "
            f"({_reason(done.error_output or done.output)})",
            "free space on it, or restart it",
        )

    def _write_own(self, changes: Changes) -> None:
        if self._file is None:
            return
        fresh = self._file.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(format_changes(changes), encoding="utf-8")
            fresh.replace(self._file)
        except OSError as error:
            raise unwritable(self._file, error) from error

    def _own(self) -> Changes | None:
        if self._file is None:
            return None
        try:
            return parse_changes(self._file.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return None


def mine(holder: Holder, *, pinned: bool, stay_on: str | None) -> Changes:
    """Create the journal of this process."""
    return Changes(pinned=pinned, stay_on=stay_on, holder=holder, host=this_host(), pid=os.getpid())


def _reason(text: str) -> str:
    return " ".join(text.split())[-120:] or "no reason given"
