"""Compute the stability of rounds: coefficient of variation, convergence, and grade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_devperf import stats
from pytest_devperf.case.plan import Plan

Quality = Literal["STABLE", "NOISY", "UNTRUSTWORTHY"]

NOISY_UP_TO = 2.0
"""Multiple of the target up to which rounds are noisy; beyond it, they do not describe a single state."""

ADVICE: dict[Quality, str] = {
    "NOISY": "end other programs, or let it rest between rounds (--devperf-round-cooldown)",
    "UNTRUSTWORTHY": (
        "end other programs, let the device cool down (--devperf-cooldown, --devperf-round-cooldown) and measure again"
    ),
}
"""Recommendation for each grade except the best."""


def round_cov(medians_ns: Sequence[float]) -> float | None:
    """Divide the standard deviation (ddof=1) of round medians by their mean; None for fewer than two rounds."""
    return stats.cov(medians_ns)


def converged(medians_ns: Sequence[float], plan: Plan) -> bool:
    """Return whether the rounds so far are stable enough to stop.

    Requires that the coefficient of variation of all rounds was on target after each of the last `plan.patience`
    rounds, and that `plan.min_rounds` are done.
    """
    done = len(medians_ns)
    if done < max(plan.min_rounds, plan.patience + 1):
        return False
    for count in range(done - plan.patience + 1, done + 1):
        spread = round_cov(medians_ns[:count])
        if spread is None or spread > plan.stability_target:
            return False
    return True


def grade(spread: float | None, target: float) -> Quality:
    """Grade a coefficient of variation: on target, within twice the target, or beyond.

    Args:
        spread: Coefficient of variation of round medians; None (fewer than two rounds) is untrustworthy.
        target: The target, as a fraction.
    """
    if spread is None:
        return "UNTRUSTWORTHY"
    if spread <= target:
        return "STABLE"
    return "NOISY" if spread <= NOISY_UP_TO * target else "UNTRUSTWORTHY"
