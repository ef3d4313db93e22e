"""Values that a test on a phone records itself: it is run once, and later starts repeat its workload alone."""

from __future__ import annotations

from typing import Any

import pytest

Session = Any
"""The fixtures' own class; conftest files are not imported."""

RECORDS = """
import json, pathlib

def test_boxes(devperf):
    if {measures}:
        devperf.command(["./tool.sh", "{{iterations}}"], push=["tool.sh"], read="lines")
    found = int(pathlib.Path(__file__).with_name("boxes.txt").read_text())
    devperf.record("boxes", found, unit="1", better="higher")
"""


@pytest.mark.parametrize("measures", [False, True], ids=["alone", "beside a command"])
def test_a_recorded_value_is_compared_exactly(session: Session, *, measures: bool) -> None:
    session.pytester.makepyfile(test_boxes=RECORDS.format(measures=measures))
    spread = ("--devperf-processes=3", "--devperf-rounds=6")
    (session.path / "boxes.txt").write_text("12")
    saving = session.run("--devperf-save=base", *spread)
    same = session.run("--devperf-compare=base", *spread)
    (session.path / "boxes.txt").write_text("11")
    fewer = session.run("--devperf-compare=base", *spread)
    (session.path / "boxes.txt").write_text("13")
    more = session.run("--devperf-compare=base", *spread)

    assert (saving.ret, same.ret, fewer.ret, more.ret) == (0, 0, 1, 0)
    same.stdout.fnmatch_lines(["devperf: 1 within noise; compared with base"])
    fewer.stdout.fnmatch_lines(["*boxes regressed: 12.00 -> 11.00 *"])
    more.stdout.fnmatch_lines(["*1 improved*"])
    fewer.stdout.no_fnmatch_line("caution one-start*")
