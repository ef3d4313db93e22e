"""What the optional packages are needed for, and what is said without them."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from pytest_devperf import inputs
from pytest_devperf.errors import CaseError, UsageError
from pytest_devperf.simphone.adb.server import adb_program
from pytest_devperf.targets.android.adb.client import make_client
from pytest_devperf.targets.android.open import NoUsablePhone, open_target


@pytest.mark.parametrize(
    "draw",
    [lambda: inputs.image(8), lambda: inputs.audio(0.1), lambda: inputs.tokens(3), lambda: inputs.tensor((2,))],
)
def test_inputs_name_the_package_that_they_need(monkeypatch: pytest.MonkeyPatch, draw: Callable[[], object]) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)

    with pytest.raises(CaseError, match=r"needs numpy.*pytest-devperf\[inputs\]"):
        draw()


def test_phones_name_the_package_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbutils", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("ADBUTILS_ADB_PATH", raising=False)

    for act in (adb_program, lambda: make_client(None), lambda: open_target("android")):
        with pytest.raises(UsageError, match=r"phones need the package adbutils.*pytest-devperf\[phone\]"):
            act()


def test_a_phone_that_auto_might_find_is_not_passed_over_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbutils", None)

    with pytest.raises(NoUsablePhone, match=r"phones need the package adbutils"):
        open_target("auto", server_port=5037)
