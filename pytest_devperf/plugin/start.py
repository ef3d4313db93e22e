"""What one process start of one case is told, and what it gives back: plain data both ways.

The same values are made in pytest's own process and in fresh interpreters, from which they travel as
JSON; so there is one path for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.metric import Metric
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import Device

Role = Literal["rounds", "solo", "all"]
"""What a process start is for.

`rounds`: timed rounds, shared with other cases. `solo`: load and memory of one case, alone in its
interpreter. `all`: everything in one process (`--devperf-processes=1`).
"""

HANDOVER_VERSION = 3
"""Version of what travels between pytest's own process and a fresh interpreter."""


class Orders(Protocol):
    """What a process start is told to do."""

    process: int
    role: Role

    def start_plan(self, metric: str) -> StartPlan:
        """Tell what to do for a metric.

        Raises:
            CaseError: An earlier process start did not measure this metric.
        """
        ...


class Timed(Struct):
    """The rounds of one metric in one process start."""

    metric: Metric
    start_result: StartResult


class ScalarValues(Struct):
    """The few values of one metric in one process start."""

    metric: Metric
    values: list[float]
    """ns for loads, MiB for sizes, the metric's own unit otherwise."""
    baseline: float | None = None
    """Memory before the workload was brought up, in MiB."""


class CaseStart(Struct):
    """What one process start of one case gave."""

    process: int
    role: Role
    timed: list[Timed] = field(default_factory=list)
    olds: list[Timed] = field(default_factory=list)
    """The old sides of metrics that were measured in turns within the test."""
    scalars: list[ScalarValues] = field(default_factory=list)
    kind: str | None = None
    """Kind of the first workload: `call`, `model`, `command`, `app`."""
    digests: dict[str, str] = field(default_factory=dict)
    """Hash of every part of the workload by its name; must be the same in every start."""
    works: dict[str, str] = field(default_factory=dict)
    """Fingerprint of every workload by the metric it was measured as."""
    ways: dict[str, str] = field(default_factory=dict)
    """The same without what the workload is given, for a case whose inputs differ from start to start."""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    model_sha256: str | None = None
    skipped_methods: dict[str, str] = field(default_factory=dict)
    env: dict[str, str | None] = field(default_factory=dict)
    looks: list[Context] = field(default_factory=list)
    prerun: Context | None = None
    device: Device | None = None
    instrumented: str | None = None
    unsupported: str | None = None
    timed_whole: bool = False
    """Whether a program was timed from its start to its end."""
    unseen_children: bool = False
    """Whether a child process came and went without its memory being counted."""
    solo: bool = False
    """Whether the case has a load or sizes, which are taken in starts of its own."""


class Wanted(Struct):
    """One case that a fresh interpreter shall run."""

    index: int
    """Its place in the parent's ledger; results come back under it."""
    path: str
    nodeid: str
    nth: int
    """Which of several equal node ids."""
    start_plans: dict[str, StartPlan]


Side = Literal["old", "new"]
"""Which code an interpreter runs."""


class Turns(Struct):
    """Where an interpreter that measures in turns with another one asks for its turn."""

    host: str
    port: int
    secret: str
    """Tells the asking interpreter from any other program of this machine."""
    side: Side


class Handover(Struct):
    """Everything a fresh interpreter is told."""

    version: int
    parent_pid: int
    args: list[str]
    """pytest's command line, the parent's to the letter."""
    sys_path: list[str] | None
    """Where it imports from; None: its own environment's places."""
    output: str
    basetemp: str
    process: int
    role: Role
    shuffle_seed: int
    wanted: list[Wanted]
    plugins: list[str] = field(default_factory=list)
    """Modules that `pytest.main` was given as plugins."""
    randomly_seed: int | None = None
    lead: list[str] = field(default_factory=list)
    """Folders put before its own places where it keeps those: the working directory under `python -m pytest`."""
    turns: Turns | None = None


class Event(Struct):
    """One line of a fresh interpreter's output."""

    kind: Literal["start", "finish", "absent", "round"]
    index: int
    start: CaseStart | None = None
    reports: list[Mapping[str, Any]] = field(default_factory=list)
