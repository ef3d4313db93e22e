"""The part of a round that is due to the code rather than to the machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf import stats
from pytest_devperf.measure.round import Earlier, Round, StartResult
from pytest_devperf.measure.undisturbed import centre_ns, earlier_of, ran_of, undisturbed

EVEN = tuple(float(1_000 + place) for place in range(33))
"""33 iterations, so that all eighths are iterations: the quartile is 1008, the eighths beside it 1004 and 1012."""


def taken(samples_ns=EVEN, **fields) -> Round:
    return Round(process=0, samples_ns=tuple(samples_ns), **fields)


def test_centre_and_width_are_those_of_the_faster_half() -> None:
    found = undisturbed([EVEN])
    assert (found.centres, found.widths) == ([1_008.0], [8.0])


@pytest.mark.parametrize("slowed", [1, 10, 20])
def test_what_hits_the_slower_half_changes_nothing(slowed) -> None:
    hit = [*EVEN[:-slowed], *(10 * value for value in EVEN[-slowed:])]
    assert undisturbed([hit]).centres == undisturbed([EVEN]).centres
    assert undisturbed([hit]).widths == undisturbed([EVEN]).widths


@pytest.mark.parametrize(("count", "halves"), [(11, False), (12, True)])
def test_a_short_round_has_no_faster_half(count, halves) -> None:
    row = [float(value) for value in range(1, count + 1)]
    found = undisturbed([row])
    assert found.centres[0] == (stats.quantile(row, 0.25) if halves else stats.median(row))


def test_the_runs_own_iqr_is_twice_that_of_its_narrowest_round() -> None:
    wide = [1_000 + 10 * (value - 1_000) for value in EVEN]
    assert undisturbed([wide, EVEN, wide]).iqr == 16.0


def test_averages_that_a_tool_prints_have_the_iqr_of_their_rounds() -> None:
    assert undisturbed([[value] for value in (1.0, 2.0, 3.0, 4.0, 5.0)]).iqr == 2.0


# -- waits for a CPU ----------------------------------------------------------------------------------


def test_a_round_that_was_interrupted_throughout_is_its_running_time() -> None:
    found = undisturbed([EVEN, EVEN], ran_ns=[33 * 900, 33 * 2_000])
    assert found.centres == [900.0, 1_008.0]
    assert list(found.interrupted) == [True, False]


def test_the_running_time_of_a_round_is_shared_by_its_calls() -> None:
    assert undisturbed([EVEN], ran_ns=[33 * 10 * 900], inner_loops=10).centres == [900.0]


def test_the_width_of_interrupted_rounds_does_not_count() -> None:
    narrow = [900.0] * 33
    rows = [narrow, EVEN, EVEN, EVEN]
    assert undisturbed(rows, ran_ns=[33 * 800, None, None, None]).iqr == 16.0


def test_a_run_that_was_interrupted_throughout_has_the_iqr_of_its_rounds() -> None:
    ran_ns = [33 * value for value in (900, 910, 920, 930, 940)]
    assert undisturbed([EVEN] * 5, ran_ns=ran_ns).iqr == pytest.approx(20.0)


def test_so_few_interrupted_rounds_have_their_usual_width() -> None:
    assert undisturbed([EVEN] * 3, ran_ns=[33 * 900] * 3).iqr == 8.0


@pytest.mark.parametrize(
    ("fields", "ran_ns"),
    [
        ({"wall_ns": 1_000, "waited_ns": 300}, 700),
        ({"wall_ns": 1_000, "waited_ns": 300, "cpu_ns": 760}, 700),
        ({"wall_ns": 1_000, "waited_ns": 300, "cpu_ns": 800}, None),
        ({"wall_ns": 1_000, "waited_ns": 1_000}, None),
        ({"wall_ns": 1_000}, None),
        ({"waited_ns": 300}, None),
    ],
    ids=["waited", "one-thread", "threads", "nothing-left", "no-waits", "no-wall"],
)
def test_the_running_time_is_known_of_a_single_thread_whose_waits_are_known(fields, ran_ns) -> None:
    assert ran_of(taken(**fields)) == ran_ns


def test_the_centre_of_a_round_is_that_of_the_record() -> None:
    waited = taken(wall_ns=33 * 1_016, waited_ns=33 * 116)
    assert centre_ns(waited, 1) == 900.0
    assert centre_ns(taken(), 1) == 1_008.0


# -- what earlier starts found ------------------------------------------------------------------------


def test_earlier_starts_leave_their_medians_and_their_lowest_centre() -> None:
    fast = tuple(value - 500 for value in EVEN)
    start_results = [
        StartResult(rounds=rounds, iterations=33, inner_loops=1, total_rounds=12, tick_ns=1.0, stop="done")
        for rounds in ((taken(), taken(fast)), (taken(),))
    ]
    assert earlier_of(start_results) == Earlier(medians_ns=(1_016.0, 516.0, 1_016.0), lowest_ns=508.0, width=33)
    assert earlier_of([]) == Earlier()


# -- properties -----------------------------------------------------------------------------------------

ROWS = st.lists(
    st.lists(st.integers(min_value=1_000, max_value=10**7).map(float), min_size=12, max_size=40), min_size=1, max_size=8
)


@given(ROWS)
def test_a_faster_half_is_never_slower_than_the_round(rows) -> None:
    found = undisturbed(rows)
    assert all(centre <= stats.median(row) for centre, row in zip(found.centres, rows, strict=True))
    assert all(width >= 0 for width in found.widths)


@given(ROWS, st.data())
def test_interference_with_up_to_half_of_the_iterations_leaves_a_centre_within_its_faster_half(rows, data) -> None:
    row = sorted(rows[0])
    hit = data.draw(st.integers(min_value=0, max_value=len(row) // 2))
    places = data.draw(st.permutations(range(len(row))))[:hit]
    slowed = [10 * value if place in places else value for place, value in enumerate(row)]
    assert row[0] <= undisturbed([slowed]).centres[0] <= 10 * stats.median(row)
    untouched = sorted(value for place, value in enumerate(row) if place not in places)
    assert undisturbed([slowed]).centres[0] <= untouched[-1]


@given(ROWS, st.integers(min_value=2, max_value=1_000))
def test_a_unit_scales_centres_and_widths(rows, factor) -> None:
    one, many = undisturbed(rows), undisturbed([[factor * value for value in row] for row in rows])
    assert many.centres == pytest.approx([factor * centre for centre in one.centres])
    assert many.iqr == pytest.approx(factor * one.iqr)
