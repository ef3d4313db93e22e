"""What process starts gave, put together."""

from __future__ import annotations

import pytest

from pytest_devperf.metric import PEAK_MEMORY, memory_metric
from pytest_devperf.session.cases.measurements import measurements_of
from pytest_devperf.session.starts.start import CaseStart, ScalarValues


def solo(process: int, peak_mib: float, baseline_mib: float | None) -> CaseStart:
    found = ScalarValues(metric=memory_metric(PEAK_MEMORY), values=[peak_mib], baseline=baseline_mib)
    return CaseStart(process=process, role="solo", scalars=[found])


@pytest.mark.parametrize(
    ("baselines_mib", "median_mib"), [([90.0, 50.0, 60.0], 60.0), ([90.0, 50.0], 70.0), ([None, 50.0], 50.0)]
)
def test_the_baseline_of_memory_is_the_median_of_all_starts(baselines_mib, median_mib) -> None:
    starts = [solo(process, 20.0, baseline_mib) for process, baseline_mib in enumerate(baselines_mib)]
    (measurement,) = measurements_of(starts)
    assert measurement.baseline == median_mib
    assert measurement.process == tuple(range(len(starts)))


def test_a_baseline_that_no_start_knows_is_not_known() -> None:
    (measurement,) = measurements_of([solo(0, 20.0, None)])
    assert measurement.baseline is None
