"""Print the error rates of verdicts: `python -m benchmarks.verdicts`.

Seeded arithmetic on virtual devices: the same command prints the same table on every machine. Nothing is
written. The numbers that the documents quote come from here.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial

from benchmarks.verdicts.devices import KINDS
from benchmarks.verdicts.session import Rules
from benchmarks.verdicts.table import by_device, laid_out, overview
from benchmarks.verdicts.trial import OURS, PAIRED, Score, trial

PEERS_EVERY = 4
"""Other tools and parts of our rule are tested in every fourth trial: their rates are large, so a few cases suffice."""

Task = tuple[str, int, bool, bool]
"""Device, seed, whether to test other tools and variants, and whether to measure old and new code in turns."""


def options(argv: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    names = [kind.name for kind in KINDS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="first seed; each trial takes the next one")
    parser.add_argument("--trials", type=int, default=40, help="machines of every kind, each with a suite of 16 cases")
    parser.add_argument("--quick", action="store_true", help="4 machines of every kind")
    # argparse formats its help with %.
    known = ", ".join(names).replace("%", "%%")
    parser.add_argument("--devices", nargs="+", choices=names, default=names, metavar="NAME", help=known)
    parser.add_argument("--saved", type=int, choices=(1, 2, 3, 4, 5), default=1, help="saved runs in the baseline")
    parser.add_argument("--only-default", action="store_true", help="leave peers, variants and turns out")
    parser.add_argument("--paired", action="store_true", help="measure old and new code in turns, and nothing else")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes to use; 1: this one"
    )
    return parser.parse_args(argv)


def run_task(task: Task, *, saved: int) -> tuple[str, dict[str, Score]]:
    """Run one trial, in a worker process. Without saved runs, only turns are tested."""
    name, seed, everything, with_pairs = task
    ours: Mapping[str, Rules] = {} if not saved else OURS if everything else {"devperf": OURS["devperf"]}
    return name, trial(name, seed, saved, with_peers=everything, with_pairs=with_pairs, ours=ours)


def gather_scores(tasks: list[Task], *, saved: int, workers: int) -> dict[str, dict[str, Score]]:
    """Run all trials and sum their scores: rule -> device -> score."""
    totals: dict[str, dict[str, Score]] = {}
    work = partial(run_task, saved=saved)
    with ExitStack() as stack:
        found: Iterator[tuple[str, dict[str, Score]]] = map(work, tasks)
        if workers > 1:
            pool = stack.enter_context(ProcessPoolExecutor(max_workers=workers))
            found = pool.map(work, tasks, chunksize=2)
        for name, scores in found:
            for rule, score in scores.items():
                totals.setdefault(rule, {}).setdefault(name, Score()).add(score)
    return totals


def main(argv: list[str]) -> int:
    """Run the trials and print the tables."""
    chosen = options(argv)
    trials = 4 if chosen.quick else chosen.trials
    saved = 0 if chosen.paired else chosen.saved
    everything = not chosen.only_default and not chosen.paired
    tasks = [
        (name, chosen.seed + index, everything and index % PEERS_EVERY == 0, everything or chosen.paired)
        for index in range(trials)
        for name in chosen.devices
    ]
    began = time.monotonic()
    totals = gather_scores(tasks, saved=saved, workers=chosen.workers)
    took_s = time.monotonic() - began
    print(
        f"{len(chosen.devices)} kinds of device, {trials} machines of each with 16 cases, seeds from {chosen.seed}, "
        f"{saved or 'no'} saved run{'' if saved == 1 else 's'} ({took_s:.0f} s)\n"
    )
    print(laid_out(overview(totals), markdown=chosen.markdown))
    for rule, words in (("devperf", "The default rule"), (PAIRED, "Old and new code in turns")):
        if rule in totals:
            print(f"\n{words}, device by device:\n")
            print(laid_out(by_device(totals[rule]), markdown=chosen.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
