"""The run document: what `--devperf-json` writes and the store keeps.

Field names are the JSON keys. `None` means *not known*. Raw samples are the truth; every summary can
be derived from them again.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from pytest_devperf.metric import Better, Kind
from pytest_devperf.sensor.context import RunContext
from pytest_devperf.targets.device import Device

SCHEMA = "pytest-devperf/1"
"""Name and version of the document; a reader refuses another."""

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number of 64 bits: longer ones are damage, and no float holds them."""

Setting = Whole | float | str | bool | None
"""A value of a run's settings."""

Outcome = Literal["passed", "failed", "skipped", "error"]
Quality = Literal["STABLE", "NOISY", "UNTRUSTWORTHY"]
Verdict = Literal["regressed", "improved", "within_noise", "suspect", "incomparable", "inconclusive", "new", "skipped"]


class Summary(Struct, frozen=True, kw_only=True):
    """Told, never gating; in the metric's unit."""

    mean: float
    p50: float
    p90: float
    p99: float
    min: float
    max: float
    std: float
    per_s: float | None = None
    """Iterations per second at the median; None for what is no time."""


class Confirmation(Struct, frozen=True, kw_only=True):
    """The second look at a suspect; never serves as a baseline."""

    process: tuple[Whole, ...]
    samples_ns: tuple[tuple[float, ...], ...] | None = None
    samples: tuple[tuple[float, ...], ...] | None = None
    anchor_ns: tuple[float | None, ...] = ()
    ran_ns: tuple[Whole | None, ...] = ()
    temp_c: tuple[float | None, ...] = ()
    clock_khz: tuple[Whole | None, ...] = ()


class Measurement(Struct, frozen=True, kw_only=True):
    """One metric of one case."""

    name: str
    unit: str
    better: Better = "lower"
    kind: Kind = "rounds"
    main: bool = False
    """Whether `stable` speaks of it."""
    process: tuple[Whole, ...]
    """(rounds,) index of the process start each row of samples comes from."""
    inner_loops: Whole | None = None
    samples_ns: tuple[tuple[float, ...], ...] | None = None
    """(rounds, iterations) ns; of times alone."""
    samples: tuple[tuple[float, ...], ...] | None = None
    """(starts, values) in `unit`; of everything that is no time."""
    cpu_ns: tuple[Whole | None, ...] = ()
    anchor_ns: tuple[float | None, ...] = ()
    ran_ns: tuple[Whole | None, ...] = ()
    """(rounds,) wall time of the round without what its thread waited for a CPU; None if several threads worked."""
    temp_c: tuple[float | None, ...] = ()
    """Highest temperature of each round; empty if no round has one."""
    clock_khz: tuple[Whole | None, ...] = ()
    """Highest frequency that any processor was allowed in each round."""
    tick_ns: float | None = None
    """The clock's step for one iteration: inner loops divided out."""
    robust: float | None = None
    """Minimum of the round medians, or the median of few values; in `unit`."""
    median: float | None = None
    iqr: float | None = None
    iqr_within: float | None = None
    iqr_pooled: float | None = None
    undisturbed: float | None = None
    """Lowest round by its faster half, waits for a CPU taken off; in `unit`. What a comparison compares."""
    iqr_undisturbed: float | None = None
    """IQR of the faster half of the calmest rounds: the run's own IQR in a comparison."""
    baseline: float | None = None
    """Memory before the workload was brought up, in `unit`."""
    planned_rounds: Whole | None = None
    """Rounds planned; fewer were run where the metric passed early or converged."""
    stop: str | None = None
    """Why the rounds ended: `done`, `early-pass`, `converged`, `too-slow`."""
    needs_s: float | None = None
    """The `max_time` in seconds that a too slow workload needs."""
    confirmation: Confirmation | None = None
    against: Confirmation | None = None
    """The old side of a comparison in turns, in the order its rounds or values were taken; never a baseline."""
    summary: Summary | None = None


class WorkloadRecord(Struct, frozen=True, kw_only=True):
    """What the work was; another fingerprint is another workload."""

    fingerprint: str
    kind: str
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    model_sha256: str | None = None


class Stable(Struct, frozen=True, kw_only=True):
    """How steady the main time metric was."""

    robust_latency_ms: float
    round_medians_ms: tuple[float, ...]
    round_cov: float | None
    rounds_run: Whole
    converged: bool
    quality: Quality
    iters_per_round: Whole
    cooldown_ms: Whole


class SkippedMethod(Struct, frozen=True, kw_only=True):
    """An entry of a model that was not measured."""

    method: str
    reason: str


class Change(Struct, frozen=True, kw_only=True):
    """One metric, then and now; values in the metric's unit."""

    metric: str
    verdict: Verdict
    unit: str = "ms"
    better: Better = "lower"
    baseline: float | None = None
    candidate: float | None = None
    delta: float | None = None
    """candidate - baseline, unturned: negative is a smaller value."""
    delta_pct: float | None = None
    decided_by: str | None = None
    """Which bound of the threshold was largest: `iqr`, `tolerance` or `tick`."""
    threshold: float | None = None
    iqr_baseline: float | None = None
    iqr_candidate: float | None = None
    confirmed: bool | None = None
    detectable_pct: float | None = None
    """The smallest change in percent that this comparison could have found."""
    p: float | None = None
    """Chance of so clear a difference between process starts, or pairs of them, if nothing had changed."""
    level: float | None = None
    """The `p` below which a change is proven; it falls with the number of metrics judged together."""
    pairs: Whole | None = None
    """Pairs of process starts that a comparison in turns took."""
    stopped_by: str | None = None
    """For a suspect: the step that did not hold (`confirm`, `waits`, `starts`, `anchor`, `unconfirmed`)."""
    reason: str | None = None


class Comparison(Struct, frozen=True, kw_only=True):
    """What became of a case against its baseline."""

    verdict: Verdict
    baseline_runs: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    reason: str | None = None
    awaiting: bool = False
    """Whether a confirmation would decide it; never stored as True."""
    cautions: dict[str, str] = field(default_factory=dict)
    """Cautions that only the comparison sees (`hot-start`, `clock-capped`, …), with their words."""
    notes: tuple[str, ...] = ()
    """Differences that are told: another runtime, another commit, a plan taken from the baseline."""


class Record(Struct, frozen=True, kw_only=True):
    """One case of a run."""

    id: str
    path: str | None = None
    """File of its test, relative to rootdir; what a comparison of some files may miss is told by it."""
    test: str | None = None
    """Names of its test below the file: `TestSort::test_it[3]`."""
    suite: str = "quick"
    sweep: str | None = None
    """Group of configurations that are ranked among themselves."""
    outcome: Outcome = "passed"
    reason: str | None = None
    workload: WorkloadRecord
    cautions: tuple[str, ...] = ()
    caution_notes: dict[str, str] = field(default_factory=dict)
    """What made each caution, in words."""
    run_context: RunContext = field(default_factory=RunContext)
    metrics: tuple[Measurement, ...] = ()
    skipped_methods: tuple[SkippedMethod, ...] = ()
    iterations: Whole | None = None
    """Iterations per round of the time metrics."""
    processes: Whole | None = None
    stable: Stable | None = None
    comparison: Comparison | None = None


class Commit(Struct, frozen=True, kw_only=True):
    """The state of the code under test; None where there is no repository."""

    id: str | None = None
    dirty: bool | None = None
    branch: str | None = None


class DeviceRecord(Struct, frozen=True, kw_only=True):
    """The device as stored."""

    fingerprint: str
    kind: str
    manufacturer: str | None = None
    model: str | None = None
    soc: str | None = None
    cores: Whole | None = None
    memory_gib: Whole | None = None
    abi: str | None = None
    unit: str | None = None

    @classmethod
    def of(cls, device: Device) -> DeviceRecord:
        """Make the stored form of a device."""
        return cls(**{name: getattr(device, name) for name in cls.__struct_fields__})


class Run(Struct, frozen=True, kw_only=True):
    """One session on one device."""

    id: str = ""
    """Short random id; with `taken_at` it names the run."""
    label: str | None = None
    generation: str | None = None
    """Runs that make one baseline: `taken_at` of the first of them, or later where that was taken. Only the newest
    generation of a label is compared with."""
    taken_at: str
    """UTC, `2026-11-29T20:15:03Z`."""
    devperf_version: str
    commit: Commit | None = None
    device: DeviceRecord
    settings: dict[str, Setting] = field(default_factory=dict)
    run_context: RunContext = field(default_factory=RunContext)
    cases: tuple[Record, ...] = ()
    missing: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Cases that were selected and came to no end, because the session was ended before them."""


class Document(Struct, frozen=True, kw_only=True):
    """One run per device."""

    schema: str = SCHEMA
    runs: tuple[Run, ...] = ()
