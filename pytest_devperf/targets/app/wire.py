"""The format in which an app reports to the collector, checked when decoded; `docs/wire.md` documents it."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar, Union

import msgspec

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import LARGEST_VALUE, LONGEST_NS, MOST_BYTES, SHORTEST_NS, is_recorded_value
from pytest_devperf.untrusted import excerpt

SCHEMA = "pytest-devperf-wire/1"
"""Name and version of the format; the number rises with a change that an old client cannot follow."""

MOST_CASES = 1000
MOST_METRICS = 64
MOST_ROUNDS = 1000
MOST_ITERATIONS = 100_000
"""Limits for one report, far above any plan: only a faulty client exceeds them."""

MOST_LOOPS = 10**12
"""Calls that one iteration may time together: at a nanosecond each, a quarter of an hour."""

# A name becomes part of a test id and of a line on the terminal: no path separator, no control character of ASCII or
# Latin-1, no character that breaks a line or changes the direction of writing.
_UNFIT = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=rf"^(?!\.{{1,2}}$)[^/\\{_UNFIT}]+\Z")]
Unit = Annotated[str, msgspec.Meta(min_length=1, max_length=20, pattern=rf"^[^{_UNFIT}]+\Z")]
Text = Annotated[str, msgspec.Meta(max_length=4000)]
Id = Annotated[str, msgspec.Meta(max_length=200)]
Duration = Annotated[float, msgspec.Meta(ge=SHORTEST_NS, le=LONGEST_NS)]
Size = Annotated[int, msgspec.Meta(ge=0, le=MOST_BYTES)]
Number = Annotated[float, msgspec.Meta(ge=-LARGEST_VALUE, le=LARGEST_VALUE)]
Fact = Union[Text, Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)], float, bool, None]
Rounds = Annotated[
    tuple[Annotated[tuple[Duration, ...], msgspec.Meta(min_length=1, max_length=MOST_ITERATIONS)], ...],
    msgspec.Meta(min_length=1, max_length=MOST_ROUNDS),
]

_T = TypeVar("_T")


class AppMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of the app in bytes."""

    baseline: Size
    """Before the workload was loaded."""
    peak: Size
    """Highest size since then."""
    loaded: Size | None = None
    """With the workload loaded, before its first iteration."""
    disposed: Size | None = None
    """After the workload was unloaded."""


class AppValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is not a duration."""

    value: Number
    unit: Unit
    better: Literal["lower", "higher"] = "lower"


class CaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """The app's results for one case."""

    run: Id
    """Id of the run, from the task."""
    case: Name
    outcome: Literal["passed", "failed", "skipped"] = "passed"
    reason: Text | None = None
    """Why it failed or was skipped."""
    load_ns: Duration | None = None
    """Time to load the workload."""
    rounds_ns: Annotated[dict[Name, Rounds], msgspec.Meta(max_length=MOST_METRICS)] = {}
    """Metric (`latency`, `latency.decode`) -> its rounds: ns of each iteration, already divided by the inner loops."""
    inner_loops: Annotated[int, msgspec.Meta(ge=1, le=MOST_LOOPS)] = 1
    """Calls that each iteration timed together, if the clock is coarse."""
    values: Annotated[dict[Name, AppValue], msgspec.Meta(max_length=MOST_METRICS)] = {}
    memory: AppMemory | None = None
    facts: Annotated[dict[Name, Fact], msgspec.Meta(max_length=MOST_METRICS)] = {}
    """Facts about the work done: a case whose facts change is no longer comparable."""

    def __post_init__(self) -> None:
        """Check the fields against each other."""
        for name, each in self.values.items():
            if not is_recorded_value(each.value):
                raise ValueError(f"the value of {name!r} is a number that nothing measures")
        if self.outcome == "passed" and not (self.rounds_ns or self.values):
            raise ValueError("a passed case has rounds_ns or values")
        if self.outcome != "passed" and not self.reason:
            raise ValueError(f"a {self.outcome} case has a reason")


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The app begins a case; if the app dies, it died in this case."""

    run: Id
    case: Name


class FinalReport(msgspec.Struct, frozen=True, kw_only=True):
    """The app ends its run and sends all reports again."""

    run: Id
    cases: Annotated[tuple[CaseReport, ...], msgspec.Meta(max_length=MOST_CASES)]
    reason: Text | None = None
    """Why the app ended its run early."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The task for the app, and the cases that are already done."""

    run: str
    rounds: int
    iterations: int
    warmup: int
    only: str | None = None
    """The only case to run."""
    done: tuple[str, ...] = ()
    """Reported cases: an app that is started again skips them."""
    begun: tuple[str, ...] = ()
    """Cases that were begun and not reported: the app died in them."""
    schema: str = SCHEMA


def parse_body(body: bytes, kind: type[_T]) -> _T:
    """Decode a posted body.

    Raises:
        CaseError: The body is not JSON or does not match the type; the message names the field.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CaseError(f"the body is no {kind.__name__}: {excerpt(str(error))}", "see docs/wire.md") from error
