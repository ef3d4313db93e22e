"""Whatever a test hands to a measured call, the case is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

FAST = (
    "--devperf",
    "--devperf-rounds=3",
    "--devperf-iterations=5",
    "--devperf-processes=1",
    "--devperf-json=run.json",
)

ARGUMENTS = {
    "a magic mock": "MagicMock()",
    "a mock": "Mock()",
    "a mock of a dict": "Mock(spec=dict)",
    "a strided view": "memoryview(b'abcdef')[::2]",
    "an object that raises": "Raises()",
    "an array of mocks": "numpy.array([MagicMock()], dtype=object)",
    "a list within itself": "LOOP",
}

TEST = """
import numpy
from unittest.mock import MagicMock, Mock

class Raises:
    def __getattr__(self, name):
        raise RuntimeError(name)

    __hash__ = __eq__ = __iter__ = __len__ = __bool__ = lambda *_: 1 / 0

LOOP = []
LOOP.append(LOOP)

def use(*values):
    return None

def test_it(devperf):
    value = {value}
    devperf(use, value)
    devperf.workload(fact=value)
"""


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_call_with_any_argument_is_measured(suite: Suite, name: str) -> None:
    suite.pytester.makepyfile(TEST.replace("{value}", ARGUMENTS[name]))

    result = suite.run(*FAST)

    result.assert_outcomes(passed=1)
    (case,) = suite.cases().values()
    assert case["metrics"][0]["name"] == "latency"
