"""What can go wrong with a phone on a cable, each by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_devperf.errors import UsageError
from pytest_devperf.targets.android.journal import ON_PHONE, Changes, format_changes
from pytest_devperf.targets.android.lease import Holder

Pinning = Literal["works", "ignored", "refused", "slips", "lifts a cap"]
"""What asking for fixed-performance mode does. `slips`: it ends by itself after `SLIPS_AFTER_S`. `lifts a cap`: the
mode does nothing, and the vendor's own cap goes meanwhile."""

Restoring = Literal["works", "ignored", "refused"]
"""What undoing does: leaving fixed-performance mode, and writing the stay-awake setting back. `ignored` returns 0."""

SLIPS_AFTER_S = 3.0
"""Time on the phone after which a mode that slips ends: later than a first look at it, sooner than a run."""

ANOTHER_HOST = "0123456789ab"
"""What stands for the hash of a workstation that is not this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mishap:
    """One way of going wrong; the defaults are a phone with which nothing is wrong."""

    name: str
    words: str
    """What happens, in one sentence."""
    dies_after_s: float | None = None
    """The link drops for good this long (real time) after a long command began."""
    dies_after_push_bytes: int | None = None
    """The link drops for good once a push has brought this much."""
    unauthorized: bool = False
    away_s: float | None = None
    """The link drops once, in the middle of a command, and is refused for this long (real time)."""
    lost_after_s: float = 1.0
    """How long that command has run by then (real time): longer than any that only reads."""
    latency_s: float = 0.0
    """Added to every answer."""
    cut_after_bytes: int | None = None
    """Output of a command is cut here, and its return code is lost."""
    disk_full: bool = False
    pinning: Pinning = "works"
    restoring: Restoring = "works"
    ambient_c: float | None = None
    """Temperature of the air around it; None: what the family is used to."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the state it is switched on with."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that lie on it already: path -> text."""


NONE = Mishap(name="none", words="Nothing goes wrong.")

_ALL = (
    Mishap(name="dies-mid-run", words="The link drops for good while a command runs.", dies_after_s=1.0),
    Mishap(name="dies-mid-push", words="The link drops for good while a file is pushed.", dies_after_push_bytes=65536),
    Mishap(name="unauthorized", words="Nobody confirmed this computer on the phone's screen.", unauthorized=True),
    Mishap(name="offline-and-back", words="The link drops once while a command runs, and comes back.", away_s=1.0),
    Mishap(name="slow", words="Every answer takes 0.3 s longer.", latency_s=0.3),
    Mishap(name="cut-output", words="Long output is cut, and the return code with it.", cut_after_bytes=600),
    Mishap(name="disk-full", words="No space is left for a push.", disk_full=True),
    Mishap(name="ignores-pinning", words="Fixed-performance mode is accepted and does nothing.", pinning="ignored"),
    Mishap(name="refuses-pinning", words="Fixed-performance mode is refused.", pinning="refused"),
    Mishap(
        name="pinning-slips",
        words="Fixed-performance mode holds the clocks for three seconds, then lets go by itself.",
        pinning="slips",
    ),
    Mishap(
        name="cap-lifts",
        words="Fixed-performance mode does nothing, and a cap of the vendor's lifts by itself just then.",
        pinning="lifts a cap",
        state={"vendor_cap": 0.7},
    ),
    Mishap(
        name="refuses-restoring",
        words="Fixed-performance mode cannot be left, and stay-awake cannot be set back: both fail.",
        restoring="refused",
    ),
    Mishap(
        name="ignores-restoring",
        words="Leaving fixed-performance mode and setting stay-awake back return 0 and do nothing.",
        restoring="ignored",
    ),
    Mishap(
        name="left-by-another",
        words="Another computer's session left the clocks held, the screen kept on, and its note of both.",
        state={"pinned": True, "settings": {"global/stay_on_while_plugged_in": "2"}},
        files={
            ON_PHONE: format_changes(
                Changes(pinned=True, stay_on="0", holder=Holder(pid=4711, start_ticks=1), host=ANOTHER_HOST, pid=4711)
            )
        },
    ),
    Mishap(
        name="cannot-cool",
        words="It lies in air of 46 °C and throttles however long it is left alone.",
        ambient_c=46.0,
    ),
    Mishap(
        name="thermal-override",
        words="The thermal status was overridden by hand.",
        state={"status_override": 0},
    ),
    Mishap(
        name="battery-faked",
        words="The battery's readings were set by hand.",
        state={"updates_stopped": True, "faked_battery_c": 25.0},
    ),
)

MISHAPS = {mishap.name: mishap for mishap in _ALL}
"""Every mishap by name."""


def mishap_named(name: str | None) -> Mishap:
    """Find a mishap; None is the phone with which nothing is wrong.

    Raises:
        UsageError: There is no mishap of that name.
    """
    if name is None or name == NONE.name:
        return NONE
    if name not in MISHAPS:
        raise UsageError(f"there is no mishap {name!r}", f"choose one of {', '.join(MISHAPS)}")
    return MISHAPS[name]
