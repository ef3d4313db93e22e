"""Things that can go wrong with a phone on a cable, each with a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_devperf.errors import UsageError
from pytest_devperf.targets.android.phone.lease import Holder
from pytest_devperf.targets.android.phone.undo_journal import ON_PHONE, Changes, format_changes

Pinning = Literal["works", "ignored", "refused", "slips", "lifts a cap"]
"""Effect of requesting fixed-performance mode. `slips`: it ends by itself after `SLIPS_AFTER_S`. `lifts a cap`: the
mode does nothing, but the vendor's own cap is lifted at the same time."""

Restoring = Literal["works", "ignored", "refused"]
"""Effect of undoing: leaving fixed-performance mode, and restoring the stay-awake setting. `ignored` returns 0."""

SLIPS_AFTER_S = 3.0
"""Time on the phone after which a mode that slips ends: after the first look, before the end of a run."""

ANOTHER_HOST = "0123456789ab"
"""Hash that represents another workstation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mishap:
    """Something that goes wrong; with the defaults, nothing does."""

    name: str
    words: str
    """Description in one sentence."""
    dies_after_s: float | None = None
    """The connection drops permanently this long (real time) after the start of a long command."""
    dies_after_push_bytes: int | None = None
    """The connection drops permanently after this many bytes of a push."""
    unauthorized: bool = False
    away_s: float | None = None
    """The connection drops once, during a command, and is refused for this long (real time)."""
    lost_after_s: float = 1.0
    """How long that command must have run (real time): longer than any that only reads."""
    latency_s: float = 0.0
    """Delay of every answer."""
    cut_after_bytes: int | None = None
    """Output of a command is cut here, and its return code is lost."""
    disk_full: bool = False
    pinning: Pinning = "works"
    restoring: Restoring = "works"
    ambient_c: float | None = None
    """Ambient temperature; None: typical of the family."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """Initial values of fields of the state."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that exist on the phone from the start: path -> text."""


NONE = Mishap(name="none", words="Nothing goes wrong.")

_ALL = (
    Mishap(name="dies-mid-run", words="The connection drops permanently while a command runs.", dies_after_s=1.0),
    Mishap(name="dies-mid-push", words="The connection drops permanently during a push.", dies_after_push_bytes=65536),
    Mishap(name="unauthorized", words="Nobody confirmed this computer on the phone's screen.", unauthorized=True),
    Mishap(name="offline-and-back", words="The connection drops once while a command runs, and returns.", away_s=1.0),
    Mishap(name="slow", words="Every answer takes 0.3 s longer.", latency_s=0.3),
    Mishap(name="cut-output", words="Long output is cut off, and its return code is lost.", cut_after_bytes=600),
    Mishap(name="disk-full", words="No space is left for a push.", disk_full=True),
    Mishap(name="ignores-pinning", words="Fixed-performance mode is accepted and does nothing.", pinning="ignored"),
    Mishap(name="refuses-pinning", words="Fixed-performance mode is refused.", pinning="refused"),
    Mishap(
        name="pinning-slips",
        words="Fixed-performance mode holds the clocks for three seconds, then ends by itself.",
        pinning="slips",
    ),
    Mishap(
        name="cap-lifts",
        words="Fixed-performance mode does nothing, but the vendor lifts a cap at the same time.",
        pinning="lifts a cap",
        state={"vendor_cap": 0.7},
    ),
    Mishap(
        name="refuses-restoring",
        words="Fixed-performance mode cannot be left, and stay-awake cannot be restored: both fail.",
        restoring="refused",
    ),
    Mishap(
        name="ignores-restoring",
        words="Leaving fixed-performance mode and restoring stay-awake return 0 and do nothing.",
        restoring="ignored",
    ),
    Mishap(
        name="left-by-another",
        words="Another computer's session left pinned clocks, a screen that stays on, and its undo journal.",
        state={"pinned": True, "settings": {"global/stay_on_while_plugged_in": "2"}},
        files={
            ON_PHONE: format_changes(
                Changes(pinned=True, stay_on="0", holder=Holder(pid=4711, start_ticks=1), host=ANOTHER_HOST, pid=4711)
            )
        },
    ),
    Mishap(
        name="cannot-cool",
        words="The ambient temperature is 46 °C: it always throttles.",
        ambient_c=46.0,
    ),
    Mishap(
        name="thermal-override",
        words="The thermal status is overridden.",
        state={"status_override": 0},
    ),
    Mishap(
        name="battery-faked",
        words="The battery's readings are overridden.",
        state={"updates_stopped": True, "faked_battery_c": 25.0},
    ),
)

MISHAPS = {mishap.name: mishap for mishap in _ALL}
"""Every mishap by name."""


def mishap_named(name: str | None) -> Mishap:
    """Return a mishap by its name; None is a phone with which nothing is wrong.

    Raises:
        UsageError: No mishap has that name.
    """
    if name is None or name == NONE.name:
        return NONE
    if name not in MISHAPS:
        raise UsageError(f"unknown mishap {name!r}", f"choose one of {', '.join(MISHAPS)}")
    return MISHAPS[name]
