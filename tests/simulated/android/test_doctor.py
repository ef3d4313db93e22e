"""The examination of a phone: it is read without being changed."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from pytest_devperf.cli import main

AdbServer = Any
"""The fixtures' own class; conftest files are not imported."""


@pytest.mark.parametrize(
    ("spec", "bad"),
    [
        ("sim", set()),
        ("sim:motorola", set()),
        ("sim:pixel-tensor:battery-faked", {"sensors"}),
        ("sim:pixel-tensor:left-by-another", {"leftovers"}),
        ("sim:pixel-tensor:cannot-cool", {"heat"}),
    ],
)
def test_a_phone_is_examined(
    adb_server: AdbServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    spec: str,
    bad: set[str],
) -> None:
    monkeypatch.setattr("pytest_devperf.simphone.phone.AdbServer", lambda: nullcontext(adb_server))

    code = main(["doctor", f"--target={spec}", "--seconds=0", "--format=json"])

    document = json.loads(capsys.readouterr().out)
    assert {each["check"] for each in document["findings"] if each["grade"] == "bad"} == bad
    assert code == (1 if bad else 0)
