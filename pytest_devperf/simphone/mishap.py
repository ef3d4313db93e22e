"""What can go wrong with a phone on a cable, each by its name."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_devperf.errors import UsageError


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
    pinning: str = "works"
    """`works`, `ignored` (accepted, nothing happens) or `refused`."""
    status_override: int | None = None
    """A thermal status that somebody set by hand."""
    battery_override_c: float | None = None
    """A battery temperature that somebody set by hand."""


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
    Mishap(name="thermal-override", words="The thermal status was overridden by hand.", status_override=0),
    Mishap(name="battery-faked", words="The battery's readings were set by hand.", battery_override_c=25.0),
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
