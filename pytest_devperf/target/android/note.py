"""What we changed on a phone, written down there and here, so that a leftover is found after a crash."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote

from pytest_devperf.target.android.link import Link
from pytest_devperf.target.android.place import ROOT
from pytest_devperf.target.android.setup import setup_folder
from pytest_devperf.untrusted import parse_json, parse_whole

BORN_STEP_S = 2
"""How far two reads of one process's beginning may differ: it is computed from the time of the boot, which drifts."""

ON_PHONE = f"{ROOT}/changed.properties"
"""Properties, one `key=value` a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Changes that wait to be undone."""

    pinned: bool = False
    """Whether fixed-performance mode was asked for."""
    stay_on: str | None = None
    """What `stay_on_while_plugged_in` was before we changed it (`null` where it was not set); None: unchanged."""
    host: str = ""
    """Hash of the workstation that wrote it."""
    pid: int = 0
    """Process that wrote it."""
    born: int = 0
    """When that process began, in seconds since 1970: process ids are given again."""

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self.pinned and self.stay_on is None

    @property
    def in_use(self) -> bool:
        """Whether another process of this machine wrote it that still lives."""
        return self.host == this_host() and _lives(self.pid, self.born)

    @property
    def abandoned(self) -> bool:
        """Whether nobody who still lives will undo it. Of another machine's nobody here can tell."""
        return self.host == this_host() and not self.in_use


def this_host() -> str:
    """Name this workstation without telling its name."""
    import hashlib

    return hashlib.sha256(f"pytest-devperf host:{platform.node()}".encode()).hexdigest()[:12]


def format_note(note: Note) -> str:
    """Write a note as properties."""
    words = {
        "pinned": str(note.pinned).lower(),
        "stay_on": note.stay_on,
        "host": note.host,
        "pid": note.pid,
        "born": note.born,
    }
    return "".join(f"{key}={value}\n" for key, value in words.items() if value is not None)


def parse_note(text: str) -> Note | None:
    r"""Read properties; None where they are no note of ours.

    >>> parse_note("pinned=true\nhost=abc\npid=12\n")
    Note(pinned=True, stay_on=None, host='abc', pid=12, born=0)
    """
    words = dict(line.split("=", 1) for line in text.replace("\r", "").splitlines() if "=" in line)
    if "pinned" not in words:
        return None
    stay_on = words.get("stay_on")
    return Note(
        pinned=words["pinned"] == "true",
        # It goes back into a command: only what the setting can hold is taken.
        stay_on=stay_on if stay_on is not None and re.fullmatch(r"\d{1,3}|null", stay_on) else None,
        host=words.get("host", ""),
        pid=_number(words.get("pid")),
        born=_number(words.get("born")),
    )


class Notes:
    """The note of one phone, in both places."""

    def __init__(self, link: Link, unit: str | None) -> None:
        self._link = link
        self._file: Path | None = setup_folder() / "changed" / f"{unit}.json" if unit else None

    def read(self) -> Note | None:
        """Read it: the phone's, else ours (somebody may have emptied the phone's folder)."""
        done = self._link.script(f"cat {ON_PHONE} 2>/dev/null", doing="looking for leftovers")
        return parse_note(done.output) or self._own()

    def write(self, note: Note, *, then: str = "true") -> None:
        """Write it in both places, before anything is changed.

        Args:
            note: What is about to be changed.
            then: Shell text that changes it, in the same round trip, once the note is written.

        Raises:
            TargetError: The phone went away.
        """
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(asdict(note)) + "\n", encoding="utf-8")
        text = quote(format_note(note))
        self._link.script(
            f"mkdir -p {ROOT} && printf %s {text} > {ON_PHONE}\n{then}", doing="writing down what is changed"
        )

    def forget(self, *, after: str) -> None:
        """Remove it in both places, after everything was undone.

        Args:
            after: Shell text that undoes it, in the same round trip.

        Raises:
            TargetError: The phone went away; both notes stay.
        """
        self._link.script(f"{after}\nrm -f {ON_PHONE}", doing="undoing what was changed")
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _own(self) -> Note | None:
        if self._file is None:
            return None
        try:
            words: Mapping[str, object] = parse_json(self._file.read_text(encoding="utf-8"))
            return parse_note("".join(f"{k}={str(v).lower()}\n" for k, v in words.items() if v is not None))
        except (OSError, ValueError, AttributeError):
            return None


def mine(*, pinned: bool, stay_on: str | None) -> Note:
    """Make a note of this process."""
    return Note(pinned=pinned, stay_on=stay_on, host=this_host(), pid=os.getpid(), born=_born(os.getpid()) or 0)


def _lives(pid: int, born: int) -> bool:
    if pid <= 0 or pid == os.getpid():
        return False
    began = _born(pid)
    return began is not None and abs(began - born) <= BORN_STEP_S


def _born(pid: int) -> int | None:
    import psutil

    try:
        return int(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def _number(text: str | None) -> int:
    return max(0, parse_whole(text) or 0)
