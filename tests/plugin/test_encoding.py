"""Consoles and pipes whose encoding lacks some of our characters."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite


def _run(suite: Suite, encoding: str, *args: str) -> list[str]:
    """Run on a console of an encoding."""
    environment = os.environ | {
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": encoding,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-p", "pytest_devperf.plugin", "-Wignore::pytest.PytestConfigWarning"]
    command += ["--devperf-target=virtual", *args]
    ran = subprocess.run(command, cwd=suite.path, env=environment, stdout=subprocess.PIPE, check=False)
    return ran.stdout.decode(encoding).splitlines()


@pytest.mark.parametrize("encoding", ["ascii", "cp932", "latin-1"])
def test_a_report_is_written_line_by_line_and_in_plain_letters(two_cases: Suite, encoding: str) -> None:
    two_cases.takes(fast=20_000, slow=20_000, context={"temp_c": 31.0})
    saved = _run(two_cases, encoding, "--devperf-save=base")
    two_cases.takes(fast=20_000, slow=30_000, context={"temp_c": 31.0})
    compared = _run(two_cases, encoding, "--devperf-compare=base")

    micro = "µs" if encoding == "latin-1" else "us"
    for text, expected in (
        (saved, rf"test_two\.py::test_slow +latency +20\.0\d {micro} .*"),
        (saved, "devperf: 2 measured; saved .*"),
        (compared, rf"latency regressed: 20\.0\d -> 30\.\d\d {micro} .*; confirmed"),
        (compared, r"REGRESSED test_two\.py::test_slow - latency regressed.*"),
    ):
        assert [line for line in text if re.fullmatch(expected, line)], text
    assert not [line for line in saved + compared if "\\xb" in line or "\\n" in line]


@pytest.mark.parametrize("option", ["--help", "--markers", "--fixtures"])
def test_what_every_pytest_user_sees_of_us_is_ascii(suite: Suite, option: str) -> None:
    lines = _run(suite, "ascii", option)
    assert [line for line in lines if "devperf" in line]
    assert not [line for line in lines if "\\n" in line and "devperf" in line]
