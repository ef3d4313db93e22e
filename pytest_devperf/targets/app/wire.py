"""What an app posts to the collector, checked as it comes in; `docs/wire.md` tells it to people who write a client."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar, Union

import msgspec

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import LARGEST_VALUE, LONGEST_NS, MOST_BYTES, SHORTEST_NS, is_recorded_value
from pytest_devperf.untrusted import excerpt

SCHEMA = "pytest-devperf-wire/1"
"""Name and version of the format; a change that an old client could not follow raises the number."""

MOST_CASES = 1000
MOST_METRICS = 64
MOST_ROUNDS = 1000
MOST_ITERATIONS = 100_000
"""Bounds of one report, far above what any plan asks for: more is a client gone wrong."""

MOST_LOOPS = 10**12
"""Calls that one iteration may time together: at a nanosecond each they take a quarter of an hour."""

# A name becomes part of a test's id and of a terminal's line: no path separator, no control character of ASCII or
# Latin-1, none that breaks a line or turns the direction of writing.
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
    """Before the case's workload was brought up."""
    peak: Size
    """Highest seen since."""
    loaded: Size | None = None
    """With the workload up, before its first iteration."""
    disposed: Size | None = None
    """After it was taken down."""


class AppValue(msgspec.Struct, frozen=True, kw_only=True):
    """A number that is no duration."""

    value: Number
    unit: Unit
    better: Literal["lower", "higher"] = "lower"


class CaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the app found out about one of its cases."""

    run: Id
    """The run's id, as the app was told it."""
    case: Name
    outcome: Literal["passed", "failed", "skipped"] = "passed"
    reason: Text | None = None
    """Why it failed or was skipped."""
    load_ns: Duration | None = None
    """Cost of bringing the workload up."""
    rounds_ns: Annotated[dict[Name, Rounds], msgspec.Meta(max_length=MOST_METRICS)] = {}
    """Per metric (`latency`, `latency.decode`) its rounds: ns of each iteration, inner loops divided out."""
    inner_loops: Annotated[int, msgspec.Meta(ge=1, le=MOST_LOOPS)] = 1
    """Calls that each iteration timed together, where the clock is coarse."""
    values: Annotated[dict[Name, AppValue], msgspec.Meta(max_length=MOST_METRICS)] = {}
    memory: AppMemory | None = None
    facts: Annotated[dict[Name, Fact], msgspec.Meta(max_length=MOST_METRICS)] = {}
    """Facts of the work done: another value next time makes the case incomparable."""

    def __post_init__(self) -> None:
        """Hold the fields to each other."""
        for name, each in self.values.items():
            if not is_recorded_value(each.value):
                raise ValueError(f"the value of {name!r} is a number that nothing measures")
        if self.outcome == "passed" and not (self.rounds_ns or self.values):
            raise ValueError("a passed case has rounds_ns or values")
        if self.outcome != "passed" and not self.reason:
            raise ValueError(f"a {self.outcome} case has a reason")


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The app begins a case: where it dies, this is the case it died in."""

    run: Id
    case: Name


class FinalReport(msgspec.Struct, frozen=True, kw_only=True):
    """The app is through; everything is told once more."""

    run: Id
    cases: Annotated[tuple[CaseReport, ...], msgspec.Meta(max_length=MOST_CASES)]
    reason: Text | None = None
    """Why it ended early, where it did."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What the app is asked to do, and what of it is done already."""

    run: str
    rounds: int
    iterations: int
    warmup: int
    only: str | None = None
    """The one case to run."""
    done: tuple[str, ...] = ()
    """Cases that were reported: an app that was started again leaves them out."""
    begun: tuple[str, ...] = ()
    """Cases that were begun and not reported: it died in them."""
    schema: str = SCHEMA


def parse_body(body: bytes, kind: type[_T]) -> _T:
    """Read a posted body.

    Raises:
        CaseError: It is no JSON, or not of that shape; the message names the field.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CaseError(f"the body is no {kind.__name__}: {excerpt(str(error))}", "see docs/wire.md") from error
