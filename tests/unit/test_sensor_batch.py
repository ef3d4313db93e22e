"""A script of many probes, run by a real shell."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from pytest_devperf.sensor.android.clock import CLOCK_SCRIPT, parse_clocks
from pytest_devperf.sensor.batch import format_batch, split_batch
from pytest_devperf.sensor.zone import ZONE_SCRIPT, parse_zones

PROBES = {
    "plain": "echo one; echo two",
    "unended": "printf no-line-end; exit 130",
    "silent": "true",
    "blank": "echo; echo",
    "loud": "echo heard >&2; false",
    "thirsty": "cat",
}

needs_shell = pytest.mark.skipif(sys.platform == "win32" or shutil.which("sh") is None, reason="needs a POSIX shell")


def answer(script: str) -> str:
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout


@needs_shell
def test_every_probe_is_answered_with_its_text_and_code() -> None:
    batch = split_batch(answer(format_batch(PROBES)), list(PROBES))

    assert batch.complete
    assert {name: (each.text, each.rc) for name, each in batch.answers.items()} == {
        "plain": ("one\ntwo\n", 0),
        "unended": ("no-line-end", 130),
        "silent": ("", 0),
        "blank": ("\n\n", 0),
        "loud": ("heard\n", 1),
        "thirsty": ("", 0),
    }


@needs_shell
def test_line_ends_of_a_terminal_do_not_matter() -> None:
    text = answer(format_batch(PROBES))

    assert split_batch(text.replace("\n", "\r\n"), list(PROBES)) == split_batch(text, list(PROBES))


@needs_shell
def test_an_answer_cut_anywhere_is_noticed_and_its_rest_is_whole() -> None:
    text = answer(format_batch(PROBES))
    whole = split_batch(text, list(PROBES))

    for length in range(len(text) - 1):
        cut = split_batch(text[:length], list(PROBES))
        assert not cut.complete
        assert all(each == whole.answers[name] for name, each in cut.answers.items())


@needs_shell
def test_the_scripts_for_clocks_and_zones_run_in_a_plain_shell() -> None:
    batch = split_batch(answer(format_batch({"clock": CLOCK_SCRIPT, "zone": ZONE_SCRIPT})), ["clock", "zone"])

    assert {name: each.rc for name, each in batch.answers.items()} == {"clock": 0, "zone": 0}
    assert parse_clocks(batch.text("clock")).state in ("value", "unknown")
    assert isinstance(parse_zones(batch.text("zone")), dict)


def test_a_missing_answer_reads_as_empty() -> None:
    assert split_batch("", ["thermal"]).text("thermal") == ""


@pytest.mark.parametrize("name", ["two words", "", "END", "rc", "a\nb", 'a"b'])
def test_a_name_that_would_break_the_markers_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid name of a probe"):
        format_batch({name: "true"})
