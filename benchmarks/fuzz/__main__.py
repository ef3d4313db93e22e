"""Test every parser with damaged inputs: `python -m benchmarks.fuzz`.

Prints how many inputs each parser got, how many it refused, and how its work and memory grow. The same seed gives
the same inputs. Exit code 1 if a parser raised what it should not, or grew faster than its input.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from benchmarks.fuzz.growth import Growth, check_growth, cpu_ratio
from benchmarks.fuzz.parsers import PARSERS
from benchmarks.fuzz.trial import CPU_S, Tally, try_inputs

SHARE = 2_000
"""Inputs that a worker process tries at once."""

REPORT_EVERY = 20
"""Shares after which standard error gets a line, since a million inputs take long."""


def options(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="inputs in all (default: a million)")
    parser.add_argument("--pumps", type=int, default=40, help="ways to make each parser's inputs long (default: 40)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all inputs")
    parser.add_argument("--only", default="", metavar="WORDS", help="parsers whose names hold these words")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes to use")
    return parser.parse_args(argv)


def run_share(share: tuple[int, int, int]) -> Tally:
    """Test a parser with one share of its inputs, in a worker process."""
    warnings.simplefilter("ignore")
    place, count, seed = share
    return try_inputs(PARSERS[place], count, seed, cpu_s=CPU_S)


def run_growth(place: int, *, count: int, seed: int) -> Growth:
    """Measure the growth of one parser, in a worker process."""
    warnings.simplefilter("ignore")
    return check_growth(PARSERS[place], count, seed, work_ratio=cpu_ratio)


def shares(places: Sequence[int], inputs: int, seed: int) -> list[tuple[int, int, int]]:
    """Divide the inputs among the parsers by their weights, into shares with a seed each."""
    weight = sum(PARSERS[place].weight for place in places)
    found = []
    for place in places:
        left = -(-inputs * PARSERS[place].weight // weight)
        while left > 0:
            found.append((place, min(SHARE, left), seed * 1_000_003 + len(found)))
            left -= SHARE
    return found


def main(argv: Sequence[str]) -> int:
    """Run all tests and print a table."""
    chosen = options(argv)
    places = [place for place, parser in enumerate(PARSERS) if chosen.only in parser.name]
    tallies = {PARSERS[place].name: Tally(PARSERS[place].name) for place in places}
    began = time.monotonic()
    with ProcessPoolExecutor(max_workers=chosen.workers) as pool:
        todo = shares(places, chosen.inputs, chosen.seed)
        for done, tally in enumerate(pool.map(run_share, todo), start=1):
            tallies[tally.parser].add(tally)
            if done % REPORT_EVERY == 0:
                print(f"{done} of {len(todo)} shares, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        grow = partial(run_growth, count=chosen.pumps, seed=chosen.seed)
        growths = {growth.parser: growth for growth in pool.map(grow, places)}
    width = max(map(len, tallies))
    print(f"{'parser':{width}}  {'inputs':>8}  {'refused':>8}  {'pumps':>5}  {'CPU x4':>6}  {'memory':>6}  faults")
    for name, tally in tallies.items():
        growth = growths[name]
        ratio = f"{growth.worst:.1f}" if growth.worst else "quick"
        faults = len(tally.faults) + len(growth.faults)
        print(
            f"{name:{width}}  {tally.inputs:8d}  {tally.refused:8d}  {growth.pumps:5d}  {ratio:>6}  "
            f"{growth.most_bytes:6.0f}  {faults or ''}"
        )
    found = [fault for name in tallies for fault in (*tallies[name].faults, *growths[name].faults)]
    inputs, pumps = (sum(each) for each in zip(*((tallies[n].inputs, growths[n].pumps) for n in tallies), strict=True))
    print(
        f"\n{len(tallies)} parsers, {inputs} inputs, {pumps} pumps, seed {chosen.seed}: "
        f"{len(found)} faults ({time.monotonic() - began:.0f} s)\n"
        "CPU x4: CPU time of four times the input, at most; memory: bytes for each of the input beyond 4 MiB, at most"
    )
    for fault in found:
        print(f"\n{fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
