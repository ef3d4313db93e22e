"""Write a profile for other viewers: collapsed stacks, and files of speedscope.

A profile holds who calls whom and how often, not the stacks. The time of a function is shared among its callers in
proportion to their calls, as gprof does: true of a function whose calls take equally long, an estimate otherwise.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_devperf import stats
from pytest_devperf.explain.profile import Edge, Profile

LEAST_PART = 0.0005
"""Least part of the whole time that a stack is written for: thinner ones cannot be seen."""

MOST_FRAMES = 200
"""Deepest stack: recursion shares its time without end."""

SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"

Stack = tuple[str, ...]


def stacks_of(profile: Profile) -> Iterator[tuple[Stack, float]]:
    """Return the stacks of a profile, each with its own time in ns."""
    times = [stats.mean(row.self_ns) for row in profile.rows]
    least_ns = LEAST_PART * sum(times)
    made: dict[int, list[Edge]] = defaultdict(list)
    received: dict[int, float] = defaultdict(float)
    for edge in profile.edges:
        if edge.caller != edge.callee:
            made[edge.caller].append(edge)
            received[edge.callee] += edge.calls
    waiting: list[tuple[tuple[int, ...], float]] = [
        ((at,), 1.0 - received[at] / max(row.calls or 0.0, received[at]) if received[at] else 1.0)
        for at, row in enumerate(profile.rows)
    ]
    while waiting:
        path, part = waiting.pop()
        own_ns = part * times[path[-1]]
        if own_ns >= least_ns and own_ns > 0:
            yield tuple(profile.rows[at].name for at in path), own_ns
        if len(path) < MOST_FRAMES and part > LEAST_PART:
            for edge in made[path[-1]]:
                if edge.callee not in path and edge.calls > 0:
                    calls = max(profile.rows[edge.callee].calls or 0.0, received[edge.callee])
                    waiting.append(((*path, edge.callee), part * edge.calls / calls))


def format_collapsed(profile: Profile) -> str:
    """Format a profile as collapsed stacks, a line each: frames and nanoseconds."""
    lines = sorted(
        f"{';'.join(name.replace(';', ',') for name in stack)} {own:.0f}" for stack, own in stacks_of(profile)
    )
    return "".join(f"{line}\n" for line in lines)


def format_speedscope(profiles: Mapping[str, Profile]) -> str:
    """Format profiles as a file of speedscope.

    Args:
        profiles: Each with its name in the viewer.
    """
    frames: dict[str, int] = {}
    written: list[dict[str, Any]] = []
    for name, profile in profiles.items():
        samples, weights = [], []
        for stack, own_ns in sorted(stacks_of(profile)):
            samples.append([frames.setdefault(frame, len(frames)) for frame in stack])
            weights.append(round(own_ns))
        written.append(
            {
                "type": "sampled",
                "name": name,
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    document = {
        "$schema": SPEEDSCOPE,
        "exporter": "pytest-devperf",
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": written,
    }
    return json.dumps(document)
