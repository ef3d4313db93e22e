"""One parser under many inputs: what it refused, what it stumbled over, and what it made of the others."""

from __future__ import annotations

import dataclasses
import math
import random
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from benchmarks.fuzz.mutate import mutated
from benchmarks.fuzz.parsers import Parser

CPU_S = 20.0
"""CPU time after which an input counts as one that is never done with: every sound one takes milliseconds."""

MOST_FAULTS = 5
"""Faults that are kept of one parser: one cause has many."""

DEEPEST = 20
"""Levels of a result that are looked through."""


@dataclass(slots=True)
class Tally:
    """What came of one parser's inputs."""

    parser: str
    inputs: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another share of the inputs came to."""
        self.inputs += other.inputs
        self.refused += other.refused
        self.faults += other.faults[: MOST_FAULTS - len(self.faults)]


class Endless(BaseException):
    """Raised in a parser that took too much CPU time; no parser's own `except` takes it for an error of the input."""


def try_inputs(parser: Parser, count: int, seed: int, *, cpu_s: float | None = None) -> Tally:
    """Call a parser with its seeds, damaged in so many ways.

    Args:
        parser: The parser.
        count: How many inputs.
        seed: The same one gives the same inputs.
        cpu_s: Most CPU time of a call; None: no limit.
    """
    draw = random.Random(f"{parser.name} {seed}")
    tally = Tally(parser.name)
    for _ in range(count):
        data = mutated(draw, parser.seeds)
        tally.inputs += 1
        fault = try_input(parser, data, tally, cpu_s=cpu_s)
        if fault is not None and len(tally.faults) < MOST_FAULTS:
            tally.faults.append(f"{parser.name}: {fault}\n    input {data!r}")
    return tally


def try_input(parser: Parser, data: bytes, tally: Tally, *, cpu_s: float | None = None) -> str | None:
    """Call a parser once; None if it did as it should, else what it did."""
    try:
        with cpu_limit(cpu_s):
            result = parser.call(data)
    except parser.errors as error:
        tally.refused += 1
        return None if len(str(error)) < LONGEST_MESSAGE else f"a message of {len(str(error))} characters"
    except (Exception, Endless) as error:  # noqa: BLE001 - whatever it raises is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} ({where.filename}:{where.lineno})"
    return next(absurd_numbers(result), None)


LONGEST_MESSAGE = 15_000
"""Characters of a message: an error keeps up to 5,000 of each of its halves."""


def absurd_numbers(value: object, depth: int = 0) -> Iterator[str]:
    """Find numbers in a result that JSON cannot hold, or that no float and no 64 bits hold."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"gave {value}"
    elif isinstance(value, int) and not -(1 << 64) < value < 1 << 64:
        yield f"gave an integer of {value.bit_length()} bits"
    elif depth < DEEPEST:
        for each in _parts(value):
            yield from absurd_numbers(each, depth + 1)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, msgspec.Struct):
        return (getattr(value, name) for name in value.__struct_fields__)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (getattr(value, each.name) for each in dataclasses.fields(value))
    return ()


@contextmanager
def cpu_limit(seconds: float | None) -> Iterator[None]:
    """Raise `Endless` in a block that takes more CPU time; None, or a system that cannot do that: no limit."""
    if seconds is None or sys.platform == "win32":
        yield
        return

    def stop(_number: int, _frame: object) -> None:
        raise Endless(f"not done after {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
