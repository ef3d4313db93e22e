"""Record how this machine disturbs unchanged code: `python -m benchmarks.verdicts.recording FILE.npz`.

One recording is three sessions of a dozen small functions: a run that is saved, a run that is compared, and old and
new code in turns, each with more process starts than the rule ever asks for. It takes some minutes.
`benchmarks.verdicts.replay` judges recordings with each other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import random
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.verdicts.real import hogs
from pytest_devperf.case.workload import Call
from pytest_devperf.compare.in_turns.metric import LOOKS
from pytest_devperf.compare.in_turns.pairs import turns
from pytest_devperf.compare.looks import FIRST_STARTS, MOST_SAVED, MOST_STARTS
from pytest_devperf.measure.loop import Job, take_round
from pytest_devperf.measure.warmup import warm_up
from pytest_devperf.targets.awaited import run_now
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.host.call import CallRunner

ITERATIONS = 30
READY = 10
"""Iterations that a side of a pair runs before its turns, a third of a round, as in the plugin."""

PAUSE_S = 10.0
"""Pause between two sessions, as before a confirmation."""

NUMBERS = [(7919 * index) % 1009 for index in range(300)]
TREE = {str(index): [index, str(index), {"a": index / 7, "b": [1, 2, 3]}] for index in range(40)}
DOCUMENT = json.dumps([{"id": index, "xs": list(range(10)), "t": "lorem ipsum " * 4} for index in range(1200)])
TEXT = " ".join(f"word{index * 37 % 101}" for index in range(3000))
SCATTERED = random.Random(5).choices(range(200_000), k=30_000)  # draws, not secrets
WIDE = list(range(200_000))
MEBIBYTES = np.zeros(1_000_000)
PATTERN = re.compile(r"(\w+?)(\d+)\b")

WORK: Mapping[str, Callable[[], Any]] = {
    "arithmetic": lambda: sum(index * index for index in range(3000)),
    "dumping": lambda: json.dumps(TREE),
    "loading": lambda: json.loads(DOCUMENT),
    "building": lambda: {number: str(number) for number in NUMBERS},
    "hashing": lambda: hashlib.sha256(TEXT.encode()).digest(),
    "compressing": lambda: zlib.compress(TEXT.encode(), 6),
    "chasing": lambda: sum(WIDE[index] for index in SCATTERED),
    "splitting": lambda: "-".join(TEXT.split()),
    "matching": lambda: sum(1 for _ in PATTERN.finditer(TEXT[:4000])),
    "pickling": lambda: pickle.loads(pickle.dumps(TREE)),
    "streaming": lambda: MEBIBYTES + 1.0,
}
"""From 10 us to 12 ms, bound by the interpreter, by memory, or by caches."""


class Worker:
    """A separate interpreter: one process start."""

    def __init__(self) -> None:
        argv = [sys.executable, "-m", "benchmarks.verdicts.recording", "--worker"]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **what: Any) -> dict[str, Any]:
        """Measure some rounds of a case."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(what), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def serve() -> None:
    """Measure the requests on standard input, until it ends."""
    runners: dict[str, tuple[CallRunner, int]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        case = asked["case"]
        if case not in runners:
            runner = CallRunner(Call(function=WORK[case]), clock=SystemClock())
            warmth = run_now(warm_up(runner, 3, asked["inner_loops"], process=0))
            runners[case] = runner, warmth.inner_loops
        runner, inner_loops = runners[case]
        job = Job(process=0, iterations=asked["iterations"], inner_loops=inner_loops)
        taken = [run_now(take_round(runner, job, nth, use_anchor=asked["anchor"])) for nth in range(asked["rounds"])]
        rounds = [
            {
                "s": [round(value * inner_loops) for value in each.samples_ns],
                "a": each.anchor_ns or 0,
                "c": [each.cpu_ns or 0, each.waited_ns or 0, each.wall_ns or 0],
            }
            for each in taken
        ]
        print(json.dumps({"inner_loops": inner_loops, "tick": runner.tick_ns, "rounds": rounds}), flush=True)


class Recorder:
    """Collects the rounds of one recording."""

    def __init__(self, seed: int) -> None:
        self.arrays: dict[str, Any] = {}
        self._draw = random.Random(seed)
        self._inner_loops: dict[str, int] = {}
        self._tick_ns = 0.0

    def starts(self, kind: str, count: int, rounds_of: Callable[[int], int]) -> None:
        """Record process starts, each with the cases in another order."""
        for number in range(count):
            worker = Worker()
            for case in self._order():
                self._put(kind, number, case, self._ask(worker, case, rounds_of(number)))
            worker.close()

    def pairs(self, count: int) -> None:
        """Record pairs of process starts that run in turns."""
        for number in range(count):
            sides = {"A": Worker(), "B": Worker()}
            order = turns(number)
            for case in self._order():
                for letter in dict.fromkeys(order):
                    self._ask(sides[letter], case, 1, iterations=READY, anchor=False)
                rounds: dict[str, list[Any]] = {"A": [], "B": []}
                for letter in order:
                    rounds[letter] += self._ask(sides[letter], case, 1, anchor=False)
                self._put("old", number, case, rounds["A"])
                self._put("new", number, case, rounds["B"])
            for worker in sides.values():
                worker.close()

    def save(self, path: Path) -> None:
        """Write the recording."""
        shown = json.dumps({"inner": self._inner_loops, "tick": self._tick_ns})
        np.savez_compressed(path, meta=np.array([shown]), **self.arrays)

    def _order(self) -> list[str]:
        order = list(WORK)
        self._draw.shuffle(order)
        return order

    def _ask(
        self, worker: Worker, case: str, rounds: int, *, iterations: int = ITERATIONS, anchor: bool = True
    ) -> list[Any]:
        known = self._inner_loops.get(case)
        answer = worker.ask(case=case, rounds=rounds, iterations=iterations, inner_loops=known, anchor=anchor)
        self._inner_loops[case] = answer["inner_loops"]
        self._tick_ns = max(self._tick_ns, answer["tick"])
        found: list[Any] = answer["rounds"]
        return found

    def _put(self, kind: str, number: int, case: str, rounds: Sequence[Mapping[str, Any]]) -> None:
        for each in "sac":
            self.arrays[f"{kind}/{number}/{case}/{each}"] = np.array([taken[each] for taken in rounds])


def record(path: Path, *, seed: int) -> None:
    """Record one file."""
    recorder = Recorder(seed)
    recorder.starts("save", MOST_SAVED, lambda _: 1)
    time.sleep(PAUSE_S)
    recorder.starts("comp", FIRST_STARTS + MOST_STARTS, lambda number: 3 if number == 0 else 2)
    time.sleep(PAUSE_S)
    recorder.pairs(max(LOOKS))
    recorder.save(path)


def main(argv: list[str]) -> int:
    """Record this machine."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts.recording", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="what to write")
    parser.add_argument("--hogs", type=int, default=0, help="busy programs beside it")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the cases")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(argv)
    if chosen.worker:
        serve()
        return 0
    if chosen.file is None:
        parser.error("name the file to write")
    with hogs(chosen.hogs):
        record(chosen.file, seed=chosen.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
