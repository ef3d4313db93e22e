"""Examples in docstrings are correct."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import pytest_devperf

ROOT = Path(pytest_devperf.__file__).parents[1]

WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "pytest_devperf").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_hold(module):
    found = doctest.testmod(import_module(module.removesuffix(".__init__")))

    assert found.attempted
    assert not found.failed
