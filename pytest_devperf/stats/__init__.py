"""Compute centre, spread and significance of lists of numbers."""

from pytest_devperf.stats.ranks import all_above_p, hodges_lehmann, rank_sum_p, signed_rank_p
from pytest_devperf.stats.student import (
    chance_above,
    pooled_t,
    pooled_t_p,
    regularised_beta,
    student_above,
    student_critical,
    trimmed_t,
)
from pytest_devperf.stats.summary import (
    FEWEST_FOR_QUARTILES,
    as_fraction,
    centres_and_widths,
    cov,
    iqr,
    mean,
    median,
    quantile,
    smallest_step,
    std,
    within_iqr,
)

__all__ = [
    "FEWEST_FOR_QUARTILES",
    "all_above_p",
    "as_fraction",
    "centres_and_widths",
    "chance_above",
    "cov",
    "hodges_lehmann",
    "iqr",
    "mean",
    "median",
    "pooled_t",
    "pooled_t_p",
    "quantile",
    "rank_sum_p",
    "regularised_beta",
    "signed_rank_p",
    "smallest_step",
    "std",
    "student_above",
    "student_critical",
    "trimmed_t",
    "within_iqr",
]
