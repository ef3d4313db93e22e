"""The undo journal: what a session changed on a phone, kept there and here until the phone shows that it is undone."""

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
"""Properties, one `key=value` a line."""

SETTING = re.compile("[0-9]{1,3}|null")
"""What the setting behind stay-awake may say to be written back: a bit for each way of charging, or not set."""

HOST_DIGITS = 12
"""Hex digits kept of the hash of a workstation's name: they only choose words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What one session changed, and who it is."""

    pinned: bool = False
    """Whether fixed-performance mode was asked for."""
    held: Mapping[str, Limits] = field(default_factory=dict)
    """Clock limits that appeared with it, by policy; empty until that was seen."""
    stay_on: str | None = None
    """What `stay_on_while_plugged_in` was before (`null`: not set); None: it was not changed."""
    holder: Holder | None = None
    """The process on the phone that lives as long as the session."""
    host: str = ""
    """Hash of the workstation's name, for words alone."""
    pid: int = 0
    """Process of the workstation, for words alone."""

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
    """What lies in our folder on a phone before a session begins."""

    changes: Changes | None
    litter: tuple[str, ...]
    """Working folders and half-pushed files, as paths on the phone."""


def this_host() -> str:
    """Name this workstation without its name."""
    return hashlib.sha256(f"pytest-devperf host:{platform.node()}".encode()).hexdigest()[:HOST_DIGITS]


def format_changes(changes: Changes) -> str:
    """Write a journal as properties."""
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
    r"""Read properties; None if they are no journal of ours.

    Whatever is read here goes back into commands, so every value has to be of the form that it was written in.

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
    """The undo journal of one phone, in both places: somebody may empty the phone's folder, or lose this machine's."""

    def __init__(self, link: Link, unit: str | None) -> None:
        """Read nothing yet.

        Args:
            link: The phone.
            unit: Hash that tells this phone from others; None: nothing is kept on this machine.
        """
        self._link = link
        self._file: Path | None = setup_folder() / "changed" / f"{unit}.properties" if unit else None

    def read(self) -> Left:
        """Read what an earlier session left, of any workstation.

        Raises:
            TargetError: The phone went away.
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
        """Write a new session's journal before it changes anything; False if another session came first.

        Raises:
            UsageError: This machine's folder cannot be written.
            TargetError: The phone's cannot, or it went away.
        """
        self._write_own(changes)
        return self._write(changes, unless_there=True)

    def write(self, changes: Changes) -> None:
        """Write this session's journal again.

        Raises:
            UsageError: This machine's folder cannot be written.
            TargetError: The phone's cannot, or it went away.
        """
        self._write_own(changes)
        self._write(changes, unless_there=False)

    def clear(self) -> None:
        """Remove it, once everything is undone.

        Raises:
            TargetError: The phone went away, or keeps the file; both copies stay.
        """
        done = self._link.script(f"rm -f {ON_PHONE}", doing="removing the undo journal")
        if done.returncode != 0:
            raise TargetError(
                f"{self._link.name} does not let go of {ON_PHONE} ({_reason(done.error_output)})", "restart it"
            )
        if self._file is not None:
            with contextlib.suppress(OSError):  # what it says is undone: undoing it once more is harmless
                self._file.unlink(missing_ok=True)

    def _write(self, changes: Changes, *, unless_there: bool) -> bool:
        guard = "set -C; " if unless_there else ""
        done = self._link.script(
            f"mkdir -p {ROOT} && ( {guard}printf %s {quote(format_changes(changes))} >{ON_PHONE} ) || "
            # A full disk leaves an empty file behind.
            f"{{ if [ -s {ON_PHONE} ]; then echo taken; else rm -f {ON_PHONE}; fi; false; }}",
            doing="writing the undo journal",
        )
        if done.returncode == 0:
            return True
        if unless_there and done.output.strip() == "taken":
            return False
        raise TargetError(
            f"{self._link.name} has no writable {ROOT}, where every change is noted first "
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
    """Make the journal of this process."""
    return Changes(pinned=pinned, stay_on=stay_on, holder=holder, host=this_host(), pid=os.getpid())


def _reason(text: str) -> str:
    return " ".join(text.split())[-120:] or "no reason given"
