"""The run document, as written by `--devperf-json` and by the store.

Field names are the JSON keys. `None` means *not known*. Every summary can be computed again from the raw
samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, field

from pytest_devperf.explain.cause import Explanation
from pytest_devperf.explain.profile import Profile
from pytest_devperf.metric import Better, Kind
from pytest_devperf.sensor.run_context import RunContext
from pytest_devperf.targets.device import Device

if TYPE_CHECKING:
    Rows = tuple[tuple[float, ...], ...]
else:
    # Measuring creates tuples. A run that is read has the same rows packed, which look like tuples.
    from pytest_devperf.record.rows import PackedRows as Rows

SCHEMA = "pytest-devperf/1"
"""Name and version of the document; a document with another version is refused."""

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number of 64 bits: a longer one is damaged data, and no float can represent it."""

Setting = Whole | float | str | bool | None
"""A value of a run's settings."""

Outcome = Literal["passed", "failed", "skipped", "error"]
Quality = Literal["STABLE", "NOISY", "UNTRUSTWORTHY"]
Verdict = Literal["regressed", "improved", "within_noise", "suspect", "incomparable", "inconclusive", "new", "skipped"]


class Summary(Struct, frozen=True, kw_only=True):
    """Values in the metric's unit that are reported but never decide a verdict."""

    mean: float
    p50: float
    p90: float
    p99: float
    min: float
    max: float
    std: float
    per_s: float | None = None
    """Iterations per second at the median; None if it is not a time."""


class Confirmation(Struct, frozen=True, kw_only=True):
    """The second look at a suspect; never used as a baseline."""

    process: tuple[Whole, ...]
    samples_ns: Rows | None = None
    samples: Rows | None = None
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
    """Whether it is the metric that `stable` describes."""
    process: tuple[Whole, ...]
    """(rounds,) index of the process start of each row of samples."""
    inner_loops: Whole | None = None
    """Calls in one sample, divided out."""
    samples_ns: Rows | None = None
    """(rounds, iterations) ns; only for times."""
    samples: Rows | None = None
    """(starts, values) in `unit`; only for metrics other than times. Of instructions: (layouts, repetitions)."""
    cpu_ns: tuple[Whole | None, ...] = ()
    anchor_ns: tuple[float | None, ...] = ()
    ran_ns: tuple[Whole | None, ...] = ()
    """(rounds,) wall time of the round without waits of its thread for a CPU; None if several threads worked."""
    temp_c: tuple[float | None, ...] = ()
    """Highest temperature of each round; empty if no round has one."""
    clock_khz: tuple[Whole | None, ...] = ()
    """Highest allowed frequency of any processor in each round."""
    counters: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    """(rounds,) of each hardware counter (`instructions`, `cycles`), in user space for one call; never compared."""
    tick_ns: float | None = None
    """The clock's step for one iteration, divided by inner loops."""
    robust: float | None = None
    """Minimum of the round medians, or the median of a few values; in `unit`."""
    median: float | None = None
    iqr: float | None = None
    iqr_within: float | None = None
    iqr_pooled: float | None = None
    undisturbed: float | None = None
    """Lowest round by its faster half, without waits for a CPU; in `unit`. Comparisons use this value."""
    iqr_undisturbed: float | None = None
    """IQR of the faster half of the calmest rounds: the run's own IQR in a comparison."""
    baseline: float | None = None
    """Memory before the workload was created, in `unit`."""
    planned_rounds: Whole | None = None
    """Rounds planned; the metric has fewer if it passed early or converged."""
    stop: str | None = None
    """Why the rounds ended: `done`, `early-pass`, `converged`, `too-slow`."""
    needs_s: float | None = None
    """The `max_time` in seconds that a workload that is too slow would need."""
    confirmation: Confirmation | None = None
    against: Confirmation | None = None
    """The old side of a comparison in turns, with its rounds or values in order; never used as a baseline."""
    summary: Summary | None = None


class WorkloadRecord(Struct, frozen=True, kw_only=True):
    """Description of the work; another fingerprint is another workload."""

    fingerprint: str
    kind: str
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    model_sha256: str | None = None


class Stable(Struct, frozen=True, kw_only=True):
    """Stability of the main time metric."""

    robust_latency_ms: float
    round_medians_ms: tuple[float, ...]
    round_cov: float | None
    rounds_run: Whole
    converged: bool
    quality: Quality
    iters_per_round: Whole
    cooldown_ms: Whole


class SkippedMethod(Struct, frozen=True, kw_only=True):
    """A method of a model that was not measured."""

    method: str
    reason: str


class Change(Struct, frozen=True, kw_only=True):
    """One metric before and after; values in the metric's unit."""

    metric: str
    verdict: Verdict
    unit: str = "ms"
    better: Better = "lower"
    baseline: float | None = None
    candidate: float | None = None
    delta: float | None = None
    """candidate - baseline, with its sign: negative is a smaller value."""
    delta_pct: float | None = None
    decided_by: str | None = None
    """The largest bound of the threshold: `iqr`, `tolerance` or `tick`."""
    threshold: float | None = None
    iqr_baseline: float | None = None
    iqr_candidate: float | None = None
    confirmed: bool | None = None
    detectable_pct: float | None = None
    """The smallest change in percent that this comparison could have detected."""
    anchor_pct: float | None = None
    """Change of the anchor kernel between both sides, in percent: how much slower the machine itself was."""
    p: float | None = None
    """Probability of such a clear difference between process starts, or pairs of them, if nothing had changed."""
    level: float | None = None
    """The `p` below which a change is significant; it decreases with the number of metrics judged together."""
    pairs: Whole | None = None
    """Number of pairs of process starts in a comparison in turns."""
    stopped_by: str | None = None
    """For a suspect: the step that was not passed (`confirm`, `waits`, `starts`, `anchor`, `unconfirmed`)."""
    reason: str | None = None


class Comparison(Struct, frozen=True, kw_only=True):
    """The result of comparing a case with its baseline."""

    verdict: Verdict
    baseline_runs: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    reason: str | None = None
    awaiting: bool = False
    """Whether a confirmation would decide it; never stored as true."""
    cautions: dict[str, str] = field(default_factory=dict)
    """Cautions that only a comparison can have (`hot-start`, `clock-capped`, …), with their causes."""
    disagreement: str | None = None
    """What it means that time and instructions disagree."""
    notes: tuple[str, ...] = ()
    """Reported differences: another runtime, another commit, a plan taken from the baseline."""
    explanation: Explanation | None = None
    """Where the time of the change went; None if nobody looked."""


class Counting(Struct, frozen=True, kw_only=True):
    """How instructions were counted; those of two records are comparable if it is the same."""

    tool: str
    """`valgrind-3.19.0`."""
    abi: str
    python: str
    libc: str
    allocator: str
    """`tcache`, or `default` where the allocator cannot be set up so that counts repeat as well."""
    canary: dict[str, Whole] = field(default_factory=dict)
    """Instructions of fixed work, by its name."""


class Record(Struct, frozen=True, kw_only=True):
    """One case of a run."""

    id: str
    path: str | None = None
    """File of its test, relative to rootdir; determines which cases a comparison of some files can miss."""
    test: str | None = None
    """Name of the test within its file: `TestSort::test_it[3]`."""
    suite: str = "quick"
    sweep: str | None = None
    """Group of configurations to rank against each other."""
    group: str | None = None
    """Group that pytest-benchmark's marker or fixture names."""
    extra_info: dict[str, Any] = field(default_factory=dict)
    """Facts that a test adds to its measurement, without effect on comparisons."""
    outcome: Outcome = "passed"
    reason: str | None = None
    workload: WorkloadRecord
    cautions: tuple[str, ...] = ()
    caution_notes: dict[str, str] = field(default_factory=dict)
    """The cause of each caution."""
    run_context: RunContext = field(default_factory=RunContext)
    metrics: tuple[Measurement, ...] = ()
    skipped_methods: tuple[SkippedMethod, ...] = ()
    iterations: Whole | None = None
    """Iterations per round of the time metrics."""
    processes: Whole | None = None
    stable: Stable | None = None
    counting: Counting | None = None
    """None if no instructions were counted."""
    comparison: Comparison | None = None
    profiles: tuple[Profile, ...] = ()
    """Where the time of its metrics goes; the basis of a later explanation. Never used for a verdict."""
    profiles_before: tuple[Profile, ...] = ()
    """The same of the old code, if both were profiled in turns."""


class Commit(Struct, frozen=True, kw_only=True):
    """The state of the code under test; None without a repository."""

    id: str | None = None
    dirty: bool | None = None
    branch: str | None = None


class DeviceRecord(Struct, frozen=True, kw_only=True):
    """The device in a document."""

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
        """Convert a device for the document."""
        return cls(**{name: getattr(device, name) for name in cls.__struct_fields__})


class Run(Struct, frozen=True, kw_only=True):
    """One session on one device."""

    id: str = ""
    """Short random id; together with `taken_at` it identifies the run."""
    label: str | None = None
    generation: str | None = None
    """Name of the runs that form one baseline: `taken_at` of the first of them, or a later time if that was taken. Only
    the newest generation of a label is compared with."""
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
    """Selected cases that were not finished when the session ended."""


class Document(Struct, frozen=True, kw_only=True):
    """One run per device."""

    schema: str = SCHEMA
    runs: tuple[Run, ...] = ()
