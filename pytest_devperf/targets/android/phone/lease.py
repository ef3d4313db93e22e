"""A session's claim on a phone: a process on the phone that lives exactly as long as the session's connection.

Neither a process id on the workstation nor its name shows whether a session still measures: containers get a new name
every time, and another workstation's processes cannot be seen. The phone sees its own. The process blocks on its input
and costs nothing during a measurement; adb ends it when the session ends, for whatever reason.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.adb.loss import lost
from pytest_devperf.targets.android.adb.stream import Stream, Timeout

BEGIN_S = 60.0
"""Longest wait for a shell to start: a phone under full load has taken seconds."""

BOOT = "b=; { read -r b </proc/sys/kernel/random/boot_id; } 2>/dev/null"
"""Shell text that reads the id of this boot into `b`. Source: random(4)."""

STARTED = """s=; {{ read -r s </proc/{pid}/stat; }} 2>/dev/null; s=${{s##*") "}}; set -- $s; echo "{pid} ${{20}} $b\""""
"""Shell text that prints a process's id and its start, in ticks since the boot. The name before it may contain blanks.

Source: proc(5), `/proc/PID/stat`, field 22.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process on the phone that represents a session."""

    pid: int
    start_ticks: int
    """Start time: process ids are reused."""
    boot: str = ""
    """Id of the boot it started in; empty if it cannot be read."""


class Lease:
    """One session's claim on a phone."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._stream: Stream | None = None
        self.holder: Holder | None = None
        """The process of this session; None while it claims nothing."""

    @property
    def broken(self) -> bool:
        """Whether the process ended on the phone: the link dropped meanwhile."""
        return self._stream is not None and not self._stream.is_open()

    def take(self) -> Holder:
        """Start the process.

        Raises:
            TargetError: The phone is gone.
        """
        self.release()
        pid = "$$"
        text = f"{BOOT}; {STARTED.format(pid=pid)}; exec cat >/dev/null"
        self._stream = self._link.stream(text, doing="claiming it")
        try:
            holder = parse_holder(self._stream.read_line(time.monotonic() + BEGIN_S))
        except (EOFError, OSError, Timeout) as error:
            self.release()
            raise lost(self._link.name, "claiming it", error) from error
        if holder is None:
            self.release()
            raise lost(self._link.name, "claiming it", "its processes cannot be read")
        self.holder = holder
        return holder

    def release(self) -> None:
        """End the process; do nothing when called again."""
        stream, self._stream, self.holder = self._stream, None, None
        if stream is not None:
            stream.close()


def is_alive(link: Link, holder: Holder) -> bool:
    """Check whether the session of a process still claims the phone.

    Raises:
        TargetError: The phone is gone.
    """
    done = link.script(f"{BOOT}; {STARTED.format(pid=holder.pid)}", doing="looking for another session")
    return parse_holder(done.output) == holder


def parse_holder(line: str) -> Holder | None:
    """Parse `PID START BOOT`, the last of which may be missing; None if there is no such process.

    >>> parse_holder("4711 1234567 0f1c")
    Holder(pid=4711, start_ticks=1234567, boot='0f1c')
    >>> parse_holder("4711 1234567 ")
    Holder(pid=4711, start_ticks=1234567, boot='')
    >>> parse_holder("4711  0f1c") is None
    True
    """
    found = re.fullmatch(r"([0-9]{1,9}) ([0-9]{1,19})(?: ([0-9a-f-]{1,36}))?", line.strip())
    return Holder(pid=int(found[1]), start_ticks=int(found[2]), boot=found[3] or "") if found else None
