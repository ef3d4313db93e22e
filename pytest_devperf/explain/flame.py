"""Put what a change is made of into the tree of stacks of now: how long each frame takes, and what it grew by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_devperf import stats
from pytest_devperf.explain.cause import LEAST_REPEATED
from pytest_devperf.explain.difference import Difference, differ
from pytest_devperf.explain.nodes import align
from pytest_devperf.explain.profile import Profile
from pytest_devperf.explain.stacks import Stack, stacks_of

MOST_STACKS = 1000
"""Stacks of a tree, the largest first: a window shows fewer frames."""

ALL = "all"
"""Name of the frame around all others."""


@dataclass(slots=True)
class Frame:
    """A function that was called by the frames above it, or a node of a model."""

    name: str
    now_ns: float = 0.0
    """Its part of the measured time of now, with that of the frames below it."""
    grown_ns: float = 0.0
    """What the frame itself makes up of the measured change: as in an explanation, the growth of what it calls more
    often, only because it is called more often itself, is its own."""
    frames: dict[str, Frame] = field(default_factory=dict)
    """What it calls, by name."""


@dataclass(frozen=True, slots=True)
class OwnTime:
    """The own time of a function or node."""

    name: str
    now_ns: float
    """Its part of the measured time of now."""
    grown_ns: float
    """What it makes up of the measured change."""
    calls: tuple[float | None, float | None]
    """Calls per iteration before and now; None: they vary."""


def flame_of(old: Profile, new: Profile, then_ns: float, now_ns: float) -> Frame:
    """Make the tree of a change.

    Args:
        old: The profile of the code of before.
        new: The profile of the code of now.
        then_ns: Measured time of before.
        now_ns: Measured time of now, which the times under the profiler are scaled to.
    """
    grown = {each.name: each for each in own_times(old, new, then_ns, now_ns)}
    if new.kind == "nodes":
        _, new, _ = align(old, new)
    root = Frame(ALL, now_ns)
    for stack, own_ns in _scaled(new, now_ns):
        frame = root
        for frame in _path(root, stack):
            frame.now_ns += own_ns
        known = grown[frame.name]
        if known.now_ns > 0:
            frame.grown_ns += known.grown_ns * own_ns / known.now_ns
    return root


def own_times(old: Profile, new: Profile, then_ns: float, now_ns: float) -> Sequence[OwnTime]:
    """List the own times of functions or nodes, the largest growth or decrease first; arguments as in `flame_of`.

    As in an explanation, the growth of a loop is that of the function it calls, and that of a renamed function is
    joined with the decrease of what it was.
    """
    difference = differ(old, new, now_ns - then_ns)
    if new.kind == "nodes":
        old, new, _ = align(old, new)
    times = {row.name: stats.mean(row.self_ns) for row in new.rows}
    before, now = ({row.name: row.calls for row in profile.rows} for profile in (old, new))
    scale = now_ns / (sum(times.values()) or 1.0)
    growth = _growth_scale(difference, now_ns - then_ns)
    grown = {**dict.fromkeys(now, 0.0), **{row.name: growth * row.delta_ns for row in difference.rows}}
    found = [
        OwnTime(name, scale * times.get(name, 0.0), grown_ns, (before.get(name, 0.0), now.get(name, 0.0)))
        for name, grown_ns in grown.items()
    ]
    return sorted(found, key=lambda each: -abs(each.grown_ns))


def _growth_scale(difference: Difference, measured_ns: float) -> float:
    """Scale the growth under the profiler to the measured one; 1 if the profiles do not show that."""
    shown_ns = difference.delta_ns
    shows = measured_ns and shown_ns / measured_ns >= LEAST_REPEATED
    return measured_ns / shown_ns if shows else 1.0


def _scaled(profile: Profile, whole_ns: float) -> Iterator[tuple[Stack, float]]:
    if profile.kind == "nodes":  # in the order of execution
        stacks: list[tuple[Stack, float]] = [((row.name,), stats.mean(row.self_ns)) for row in profile.rows]
    else:
        stacks = sorted(stacks_of(profile), key=lambda stack: -stack[1])
    scale = whole_ns / (sum(own_ns for _, own_ns in stacks) or 1.0)
    for stack, own_ns in stacks[:MOST_STACKS]:
        yield stack, scale * own_ns


def _path(root: Frame, stack: Stack) -> Iterator[Frame]:
    """Find the frames of a stack below the root, and make those that are missing."""
    frame = root
    for name in stack:
        frame = frame.frames.setdefault(name, Frame(name))
        yield frame
