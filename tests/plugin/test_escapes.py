"""What a test, a tool or a store names never commands the terminal of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hostile import ESCAPES, hostile, is_harmless

from pytest_devperf.record.codec import decode, encode
from pytest_devperf.record.record import Document

if TYPE_CHECKING:
    from conftest import Suite

CASES = f"""
import pytest

ESCAPES = {ESCAPES!r}

def work(): pass

@pytest.mark.devperf(id="named " + ESCAPES)
def test_named(devperf): devperf(work)

def test_records(devperf):
    devperf.record("value", 1.0, unit=ESCAPES)
    devperf.workload(fact=ESCAPES)
    devperf(work)

def test_fails(devperf):
    devperf.record(ESCAPES, float("nan"))
"""


@pytest.mark.parametrize("words", [(), ("-v",)])
def test_no_case_prints_an_escape(suite: Suite, words: tuple[str, ...]) -> None:
    suite.pytester.makepyfile(test_it=CASES)

    for more in ("--devperf-save=base", "--devperf-compare=base"):
        result = suite.run("--color=no", more, *words)

        ours = "\n".join(line for line in result.outlines if "devperf.record(ESCAPES" not in line)
        assert "1 FAILED" in ours
        assert is_harmless(ours)


def test_no_baseline_of_another_device_prints_an_escape(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_a(devperf): devperf(work)\n")
    suite.run("--devperf", "--devperf-json=run.json")
    (run,) = decode((suite.path / "run.json").read_bytes(), "run.json").runs
    (suite.path / "other.json").write_bytes(encode(Document(runs=(hostile(run),))))

    result = suite.run("--devperf-compare=other.json")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "has runs of another device" in result.stderr.str()
    assert is_harmless(result.stderr.str())
