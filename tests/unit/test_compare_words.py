from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.tally import tally
from pytest_devperf.compare.words import format_value, sentence
from pytest_devperf.record.record import Change, Comparison


def change(**fields: Any) -> Change:
    given = {
        "metric": "latency",
        "verdict": "regressed",
        "baseline": 12.31,
        "candidate": 14.8,
        "delta": 2.49,
        "delta_pct": 20.23,
        "decided_by": "iqr",
        "threshold": 0.41,
        "iqr_baseline": 0.2,
        "iqr_candidate": 0.41,
        "confirmed": True,
    }
    return Change(**{**given, **fields})


def test_a_regression_shows_both_values_and_the_limit() -> None:
    assert sentence(change()) == (
        "latency regressed: 12.31 -> 14.80 ms (+20.2 %), beyond the run's IQR of 0.41 ms (3.3 %); confirmed"
    )


def test_the_tolerance_is_named_if_it_was_the_larger_bound() -> None:
    assert sentence(change(decided_by="tolerance", threshold=0.62)) == (
        "latency regressed: 12.31 -> 14.80 ms (+20.2 %), beyond the run's IQR of 0.41 ms (3.3 %) "
        "and the tolerance of 0.62 ms (5.0 %); confirmed"
    )


@pytest.mark.parametrize("verdict", ["regressed", "improved", "suspect"])
def test_a_value_that_may_not_change_at_all_is_beyond_a_tolerance_of_nothing(verdict) -> None:
    exact = change(verdict=verdict, decided_by="tolerance", threshold=0.0, iqr_baseline=0.0, iqr_candidate=0.0)
    assert "ms (+20.2 %), beyond the tolerance of 0 %" in sentence(exact)
    assert "IQR" not in sentence(exact)


def test_the_clock_is_named_if_it_was_the_larger_bound() -> None:
    assert "and two ticks of the clock, 0.62 ms (5.0 %)" in sentence(change(decided_by="tick", threshold=0.62))


def test_without_a_confirmation_none_is_claimed() -> None:
    assert not sentence(change(confirmed=None)).endswith("confirmed")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("confirm", "a second measurement did not find it again"),
        ("starts", "process starts differ by as much"),
        ("anchor", "the whole machine was slower, as its anchor shows"),
        ("unconfirmed", "not measured again"),
    ],
)
def test_a_suspect_names_the_step_that_stopped_it(step, words) -> None:
    assert sentence(change(verdict="suspect", stopped_by=step)).endswith(f"; {words}")


def test_a_quiet_verdict_names_its_limit() -> None:
    quiet = change(verdict="within_noise", candidate=12.4, delta=0.09, delta_pct=0.7)
    assert sentence(quiet) == (
        "latency within noise: 12.31 -> 12.40 ms (+0.7 %), inside the run's IQR of 0.41 ms (3.3 %)"
    )


def test_an_improvement_carries_its_sign() -> None:
    assert "improved: 12.31 -> 9.80 ms (-20.4 %), beyond" in sentence(
        change(verdict="improved", candidate=9.8, delta=-2.51, delta_pct=-20.4)
    )


def test_what_was_not_judged_gives_its_reason() -> None:
    assert sentence(Change(metric="load", verdict="incomparable", reason="the baseline is 0")) == (
        "load incomparable: the baseline is 0"
    )


@pytest.mark.parametrize(
    ("value_ms", "text"),
    [
        (0.0000012, "1.20 ns"),
        (0.00098, "980.0 ns"),
        (0.0042, "4.20 µs"),
        (0.41, "410.0 µs"),
        (12.31, "12.31 ms"),
        (1234.5, "1.23 s"),
        (2e9, "2000000 s"),
    ],
)
def test_a_time_has_the_unit_of_its_size(value_ms, text) -> None:
    assert format_value(value_ms, "ms") == text


def test_other_units_stay_and_a_bare_number_has_none() -> None:
    assert format_value(0.034, "MiB") == "0.034 MiB"
    assert format_value(12.0, "") == "12.00"


def test_both_values_share_the_unit_of_the_smaller() -> None:
    assert "980.0 -> 1470.0 µs" in sentence(change(baseline=0.98, candidate=1.47, iqr_candidate=0.01, threshold=0.01))


def test_a_tally_counts_cases_by_verdict_and_metrics_that_were_judged() -> None:
    cases = [
        Comparison(verdict="regressed", changes=(change(), change(verdict="within_noise"))),
        Comparison(verdict="within_noise", changes=(change(verdict="within_noise"), change(verdict="new"))),
        Comparison(verdict="new"),
    ]
    found = tally(cases, Policy())
    assert (found.verdicts, found.cases, found.compared, found.metrics) == (
        {"regressed": 1, "within_noise": 1, "new": 1},
        3,
        2,
        3,
    )
    assert found.expected_false_alarms == pytest.approx(3 * 0.002)


def test_a_looser_rule_expects_more_false_alarms() -> None:
    cases = [Comparison(verdict="regressed", changes=(change(),))]
    rates = [
        tally(cases, policy).expected_false_alarms
        for policy in (Policy(), Policy(confirm=False), Policy(anchor=False), Policy(rule="iqr"))
    ]
    assert rates == sorted(rates)
    assert rates[0] > 0


def test_a_quiet_verdict_that_could_not_have_detected_five_percent_is_marked() -> None:
    quiet = Change(
        metric="latency",
        verdict="within_noise",
        baseline=1.0,
        candidate=1.01,
        delta=0.01,
        delta_pct=1.0,
        decided_by="iqr",
        threshold=0.082,
        iqr_baseline=0.082,
        iqr_candidate=0.05,
        detectable_pct=8.2,
    )
    assert sentence(quiet).endswith("; a change below 8 % could not have been found")
    assert "could not have been found" not in sentence(replace(quiet, detectable_pct=4.9))
