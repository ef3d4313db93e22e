"""How a parser's work and memory grow: an input four times as long may take about four times as much.

CPU time of the thread is compared with itself, never with a wall clock, and a suspicion is measured again: what is
reported grew with the square of the input or faster every time.
"""

from __future__ import annotations

import gc
import random
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from benchmarks.fuzz.parsers import Parser
from benchmarks.fuzz.trial import CPU_S, MOST_FAULTS, Endless, cpu_limit

SMALL_BYTES, LARGE_BYTES = 16_384, 65_536
"""Lengths that are compared. A square's ratio is 16, a linear parser's 4."""

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
    """Largest ratio of CPU times that was confirmed; 0 if every large input was quick."""
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


def check_growth(parser: Parser, count: int, seed: int) -> Growth:
    """Compare CPU time and memory of small and large inputs.

    Args:
        parser: The parser.
        count: How many ways to make them.
        seed: The same one gives the same ways.
    """
    draw = random.Random(f"{parser.name} {seed}")
    growth = Growth(parser.name)
    for pump in pumps(draw, parser.seeds, count):
        growth.pumps += 1
        ratio = confirmed_ratio(parser, pump)
        taken = memory_per_byte(parser, pump)
        growth.worst, growth.most_bytes = max(growth.worst, ratio), max(growth.most_bytes, taken)
        words = []
        if ratio > MOST_RATIO:
            words.append(f"four times the input takes {ratio:.1f} times the CPU time")
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


def confirmed_ratio(parser: Parser, pump: Pump) -> float:
    """Measure how CPU time grows; 0 if the large input is quick, the least ratio of several where it looks bad."""
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
        with suppress(Exception, Endless), cpu_limit(CPU_S):
            parser.call(data)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return max(0, peak_bytes - FREE_BYTES) / len(data)
