"""How a parser's work and memory grow: an input four times as long may take about four times as much.

Work is measured in one of two ways. `call_ratio` counts calls: it gives the same number every time, so tests use it,
but it does not see what a regular expression or a copy does within one call. `cpu_ratio` compares the thread's CPU
time, and measures each suspicion again: it sees everything, and only the command uses it.
"""

from __future__ import annotations

import gc
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType

from benchmarks.fuzz.parsers import Parser
from benchmarks.fuzz.trial import CPU_S, MOST_FAULTS, Endless, cpu_limit

SMALL_BYTES, LARGE_BYTES = 16_384, 65_536
"""Lengths that are compared. A square's ratio is 16, a linear parser's 4."""

FLOOR_CALLS = 2_000
"""Calls of the large input below which nothing is compared: a square of 64 KiB makes millions."""

MOST_CALLS_PER_BYTE = 100
"""Calls after which a parser is stopped: reading a FlatBuffer takes 20 for each byte at most."""

FLOOR_S = 0.02
"""CPU time of the large input below which nothing is compared: no square of 64 KiB is so quick."""

MOST_RATIO = 9.0
"""Between the 4 of linear work (5 with a logarithm) and the 16 of a square."""

REPETITIONS = 3
"""Measurements of which the shortest counts, and suspicions that must all agree."""

PLAIN_S = 1.0
"""CPU time of the large input above which one measurement is enough: no disturbance of a thread's clock is as long."""

BYTES_PER_BYTE = 400
"""Memory for each byte of an input: an object of Python's for every two bytes takes 100."""

FREE_BYTES = 4 << 20
"""Memory that may be taken whatever the input: caches, imports."""

ENDS: Sequence[tuple[bytes, bytes]] = ((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b'"', b'"'), (b"\n", b"x"))
"""What is put before and behind a seed, over and over."""

CHARACTERS = b"0 9.-+eE,:;=%@[]{}()\"'\\/\n\r\t\x00\xff_aZ"


@dataclass(slots=True)
class Growth:
    """How one parser grew."""

    parser: str
    pumps: int = 0
    worst: float = 0.0
    """Largest ratio of work; 0 if every large input took little."""
    most_bytes: float = 0.0
    """Most memory for a byte of input."""
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pump:
    """A way to make an input of any length."""

    head: bytes
    unit: bytes
    tail: bytes
    closing: bytes = b""

    def grown(self, size: int) -> bytes:
        """Make an input of about this length."""
        room = max(0, size - len(self.head) - len(self.tail))
        count = room // (len(self.unit) + len(self.closing))
        return self.head + self.unit * count + self.tail + self.closing * count


WorkRatio = Callable[[Parser, Pump], float]
"""Divides the work of a large input by that of a small one; 0 if the large one takes little."""


def check_growth(parser: Parser, count: int, seed: int, *, work_ratio: WorkRatio | None = None) -> Growth:
    """Compare work and memory of small and large inputs.

    Args:
        parser: The parser.
        count: How many ways to make them.
        seed: The same one gives the same ways.
        work_ratio: How work is compared; None: by `call_ratio`.
    """
    draw = random.Random(f"{parser.name} {seed}")
    growth = Growth(parser.name)
    for pump in pumps(draw, parser.seeds, count):
        growth.pumps += 1
        ratio = (work_ratio or call_ratio)(parser, pump)
        taken = memory_per_byte(parser, pump) if ratio < float("inf") else 0.0  # there is an end to it
        growth.worst, growth.most_bytes = max(growth.worst, ratio), max(growth.most_bytes, taken)
        words = []
        if ratio > MOST_RATIO:
            words.append(f"four times the input takes {ratio:.1f} times the work")
        if taken > BYTES_PER_BYTE:
            words.append(f"takes {taken:.0f} bytes of memory for each of the input")
        if words and len(growth.faults) < MOST_FAULTS:
            growth.faults.append(f"{parser.name}: {' and '.join(words)}\n    {pump!r}")
    return growth


def pumps(draw: random.Random, seeds: Sequence[bytes], count: int) -> Iterator[Pump]:
    """Choose ways to make inputs long: a piece of a seed, a line or a character of it over and over."""
    for _ in range(count):
        seed = draw.choice(seeds)
        at = draw.randrange(len(seed) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            opening, closing = draw.choice(ENDS)
            yield Pump(seed[:at], opening, seed[at:], closing)
            continue
        lines = [line for line in seed.split(b"\n") if line] or [b"\n"]
        begin = draw.randrange(len(seed) + 1)
        units = {
            1: bytes((draw.choice(CHARACTERS),)),
            2: draw.choice(lines) + b"\n",
            3: seed[begin : begin + draw.choice((2, 5, 12, 40))] or b"\n",
            4: seed or b"\n",
        }
        yield Pump(seed[:at], units[kind], draw.choice((seed[at:], b"", b"!")))


def call_ratio(parser: Parser, pump: Pump) -> float:
    """Count how calls of functions grow; infinite if there is no end to them.

    A parser may refuse a short input at once and read a longer one: a suspicion counts if it goes on growing.
    """
    count_calls(parser, pump.grown(SMALL_BYTES))  # what the first call imports is no work of the input
    small, large = (count_calls(parser, pump.grown(size)) for size in (SMALL_BYTES, LARGE_BYTES))
    if large < FLOOR_CALLS:
        return 0.0
    if large == float("inf"):
        return large
    ratio = large / small
    return ratio if ratio <= MOST_RATIO else min(ratio, count_calls(parser, pump.grown(4 * LARGE_BYTES)) / large)


def count_calls(parser: Parser, data: bytes) -> float:
    """Count the functions that one call runs, whatever comes of it; infinite if it is stopped."""
    calls, most = 0, MOST_CALLS_PER_BYTE * len(data)

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}
        if calls >= most:
            sys.setprofile(before)
            raise Endless(f"not done after {most} calls")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with suppress(Exception, Endless):
            parser.call(data)
    finally:
        sys.setprofile(before)
    return calls if calls < most else float("inf")


def cpu_ratio(parser: Parser, pump: Pump) -> float:
    """Measure how CPU time grows; the least ratio of several if the first one looks bad."""
    small, large = pump.grown(SMALL_BYTES), pump.grown(LARGE_BYTES)
    first_s = cpu_s(parser, large)
    if first_s < FLOOR_S:
        return 0.0
    turns = 1 if first_s > PLAIN_S else REPETITIONS
    least = float("inf")
    for _ in range(turns):
        ratio = min(cpu_s(parser, large) for _ in range(turns)) / max(
            1e-6, min(cpu_s(parser, small) for _ in range(turns))
        )
        least = min(least, ratio)
        if least <= MOST_RATIO:
            break
    return least


def cpu_s(parser: Parser, data: bytes) -> float:
    """Measure the CPU time of one call, whatever comes of it."""
    gc.disable()
    begun = time.thread_time()
    try:
        with suppress(Exception, Endless), cpu_limit(CPU_S):
            parser.call(data)
    finally:
        gc.enable()
    return time.thread_time() - begun


def memory_per_byte(parser: Parser, pump: Pump) -> float:
    """Measure the most memory that a call takes for each byte of a large input."""
    data = pump.grown(LARGE_BYTES)
    tracemalloc.start()
    try:
        with suppress(Exception):
            parser.call(data)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return max(0, peak_bytes - FREE_BYTES) / len(data)
