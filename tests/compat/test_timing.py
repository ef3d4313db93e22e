"""Every meter measures but the one that calls once."""

from __future__ import annotations

from pytest_devperf.compat.timing import Timing
from pytest_devperf.session.starts.meters.counting import CountMeter
from pytest_devperf.session.starts.meters.once import Once
from pytest_devperf.session.starts.meters.timing import Meter
from pytest_devperf.session.starts.workloads import Workloads


def test_a_session_that_only_counts_measures_too() -> None:
    workloads = Workloads("test_it.py::test_it", "folder")
    assert Timing(workloads, Meter.__new__(Meter)).measures
    assert Timing(workloads, CountMeter.__new__(CountMeter)).measures
    assert not Timing(workloads, Once.__new__(Once)).measures
