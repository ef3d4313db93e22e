"""Recorded sessions, made of arithmetic here, judged with each other."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks.verdicts import recording
from benchmarks.verdicts.recording import Recorder
from benchmarks.verdicts.replay import Comparing, Recording, compare_all, in_turns, main, saved
from pytest_devperf.compare.in_turns.metric import LOOKS
from pytest_devperf.compare.policy import Policy

CASE = "arithmetic"
POLICY = Policy(metrics=16)


def recorded(path: Path, seed: int, *, busy: float = 0.0) -> Path:
    """Write a recording of a call of 1 ms; a part of the iterations waits for other programs."""
    draw = random.Random(seed)
    arrays = {"meta": np.array([json.dumps({"inner": {CASE: 1}, "tick": 30.0})])}

    def put(key: str, count: int) -> None:
        for each, values in zip(
            "sac",
            (
                [
                    [round(1e6 * draw.gauss(1, 0.002) * (3 if draw.random() < busy else 1)) for _ in range(30)]
                    for _ in range(count)
                ],
                [2e5] * count,
                [[0, 0, 0]] * count,
            ),
            strict=True,
        ):
            arrays[f"{key}/{each}"] = np.array(values)

    for kind, starts, taken in (("save", 24, 1), ("comp", 30, 3), ("old", 24, 2), ("new", 24, 2)):
        for number in range(starts):
            put(f"{kind}/{number}/{CASE}", taken)
    np.savez_compressed(path, **arrays)
    return path


@pytest.fixture(params=[0.0, 0.4], ids=["quiet", "busy"])
def two(tmp_path: Path, request) -> list[Recording]:
    return [Recording(recorded(tmp_path / f"{seed}.npz", seed, busy=request.param)) for seed in (1, 2)]


def test_unchanged_code_passes_and_slower_code_is_found(two):
    tally = compare_all(two, POLICY)

    assert tally.cases[0.0] == 2
    assert (tally.failed[0.0], tally.failed[0.05], tally.failed[0.25]) == (0, 2, 2)
    assert tally.alarms == []


def test_the_whole_of_each_round_is_blind_on_a_busy_machine(tmp_path: Path):
    two = [Recording(recorded(tmp_path / f"{seed}.npz", seed, busy=0.4)) for seed in (1, 2)]

    assert compare_all(two, Policy(metrics=16, iqr="within")).failed[0.25] == 0


def test_pairs_of_a_recording_are_judged_in_turns(two):
    tally = in_turns(two, POLICY)

    assert (tally.failed[0.0], tally.failed[0.05]) == (0, 2)
    assert tally.starts / tally.cases[0.0] < 2 * max(LOOKS)


def test_a_recording_without_the_starts_that_are_asked_for_leaves_a_suspect(tmp_path: Path):
    path = recorded(tmp_path / "short.npz", 1)
    kept = {key: value for key, value in np.load(path).items() if not key.startswith(("comp/1", "comp/2"))}
    np.savez_compressed(path, **kept)
    short = Recording(path)

    assert Comparing(short, CASE, 0.25, saved(short, CASE, POLICY), POLICY).verdict() == "suspect"


def test_replays_are_printed(two, tmp_path: Path, capsys):
    assert main([str(tmp_path / "1.npz"), str(tmp_path / "2.npz")]) == 0

    assert "in turns" in capsys.readouterr().out


def test_a_process_start_of_this_machine_is_recorded_as_it_is_replayed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(recording, "WORK", {CASE: recording.WORK[CASE]})
    recorder = Recorder(seed=0)
    recorder.starts("save", 1, lambda _: 2)
    recorder.pairs(1)
    recorder.save(tmp_path / "here.npz")
    here = Recording(tmp_path / "here.npz")

    assert here.cases == (CASE,)
    assert [len(taken.samples_ns) for taken in here.start("save", 0, CASE)] == [30, 30]
    assert all(taken.anchor_ns for taken in here.start("save", 0, CASE))
    assert [len(here.start(side, 0, CASE)) for side in ("old", "new")] == [2, 2]
    assert here.start("save", 1, CASE) is None
