"""The result of one process start of one case, as plain data.

The values are created in the session's own process or in a fresh interpreter, which sends them as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_devperf.explain.profile import Profile
from pytest_devperf.measure.round import StartResult
from pytest_devperf.metric import Metric
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import Device

Role = Literal["rounds", "solo", "all", "counted", "profile"]
"""The purpose of a process start.

`rounds`: timed rounds, shared with other cases. `solo`: load and memory of one case, alone in its
interpreter. `all`: everything in one process (`--devperf-processes=1`). `counted`: instructions, under valgrind; start
1 of a session that measures no time has this role too, and runs everything once. `profile`: where the time goes;
nothing of such a start is measured.
"""


@dataclass(slots=True, kw_only=True)
class Timed:
    """The rounds of one metric in one process start."""

    metric: Metric
    start_result: StartResult


@dataclass(slots=True, kw_only=True)
class ScalarValues:
    """Single values of one metric in one process start: loads, memory, values that a test itself measured."""

    metric: Metric
    values: list[float]
    """ns for loads, MiB for sizes, the metric's own unit otherwise."""
    baseline: float | None = None
    """Memory before the workload was loaded, in MiB."""


@dataclass(slots=True, kw_only=True)
class Counts:
    """The instructions of one metric in one process start."""

    metric: Metric
    loops: int
    """Runs of the workload in one count, divided out."""
    layouts: list[list[float]]
    """(layouts, repetitions) instructions of one run of the workload."""


@dataclass(slots=True, kw_only=True)
class CaseStart:
    """The result of one process start for one case."""

    process: int
    role: Role
    timed: list[Timed] = field(default_factory=list)
    olds: list[Timed] = field(default_factory=list)
    """The old sides of metrics that the test measured in turns."""
    old_code: str | None = None
    """The code that the session measured these files in turns with; None if the test itself did, or if none was."""
    old_missing: str | None = None
    """Why the old code has no such workload."""
    scalars: list[ScalarValues] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    explainable: bool = False
    """Whether the case has a workload that can be profiled."""
    countable: bool = False
    """Whether the case has a workload whose instructions can be counted."""
    uncounted: str | None = None
    """Why a workload was not counted."""
    children: bool = False
    """Whether the case started processes while it was counted."""
    kind: str | None = None
    """Kind of the first workload: `call`, `model`, `command`, `app`."""
    digests: dict[str, str] = field(default_factory=dict)
    """Hash of every part of the workload by its name; must be the same in every start."""
    works: dict[str, str] = field(default_factory=dict)
    """Fingerprint of every workload by the metric it was measured as."""
    ways: dict[str, str] = field(default_factory=dict)
    """The same without the workload's inputs, for a case whose inputs differ between starts."""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    model_sha256: str | None = None
    skipped_methods: dict[str, str] = field(default_factory=dict)
    group: str | None = None
    extra_info: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str | None] = field(default_factory=dict)
    looks: list[Context] = field(default_factory=list)
    prerun: Context | None = None
    device: Device | None = None
    instrumented: str | None = None
    unsupported: str | None = None
    timed_whole: bool = False
    """Whether a program was timed as a whole."""
    narrow: bool = False
    """Whether the test itself determines how often to call, and a round has fewer samples than quartiles need."""
    unseen_children: bool = False
    """Whether a child process ended whose memory was not counted."""
    profiles: list[Profile] = field(default_factory=list)
    """Where the time goes, if the start was for that."""
    solo: bool = False
    """Whether the case has a load or memory, which separate starts measure."""


def results_of(starts: Iterable[CaseStart]) -> dict[str, list[StartResult]]:
    """Group the timed rounds by metric, in the order in which the test measured them."""
    found: dict[str, list[StartResult]] = {}
    for start in starts:
        for timed in start.timed:
            found.setdefault(timed.metric.name, []).append(timed.start_result)
    return found
