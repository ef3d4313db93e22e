"""Wait for devices to cool down, within limits: before each pass, and before rounds that are taken again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_devperf.measure.cooldown import WINDOW_S, Cooling, cool, parse_cooldown

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.session.cases.case_state import CaseState
    from pytest_devperf.targets.protocol import Clock, Target


WARM_S = 2 * WINDOW_S
"""Longest wait for a device that did not cool down before: enough to notice that it now has."""


class Cooler:
    """Lets the devices of a session cool.

    A device that did not cool within `cooldown_max` is unlikely to cool at all: later waits for it are short, until one
    finds it cool. A case waits at most `cooldown_max` in total before rounds are taken again; then they are kept as
    they are, with a caution.

    Args:
        clock: Waits.
        on_step: Shows the progress of a wait.
    """

    def __init__(self, clock: Clock, on_step: Callable[[Cooling], None]) -> None:
        self._clock = clock
        self._on_step = on_step
        self._warm: set[int] = set()
        """Devices whose latest wait timed out, by the identity of their targets."""

    def before_pass(self, target: Target, plan: Plan) -> Cooling | None:
        """Wait as planned; return the result of the wait, or None if there was none.

        Raises:
            TargetError: The device is gone.
        """
        warm = id(target) in self._warm
        return self._wait(target, plan, min(WARM_S, plan.cooldown_max) if warm else plan.cooldown_max)

    def again(self, target: Target, state: CaseState) -> bool:
        """Wait before a round in which a device throttled is taken again; False if the round is kept as it is.

        Raises:
            TargetError: The device is gone.
        """
        plan = state.case.plan
        mode = parse_cooldown(plan.cooldown)
        left_s = plan.cooldown_max - state.retake_wait_s
        if mode.mode == "off" or id(target) in self._warm or left_s <= 0 or mode.seconds > left_s:
            return False
        last = self._wait(target, plan, left_s)
        if last is None:
            return False
        state.retake_wait_s += last.waited_s
        return not last.timed_out and not last.throttled

    def _wait(self, target: Target, plan: Plan, ceiling_s: float) -> Cooling | None:
        last = None
        for last in cool(
            target.look,
            self._clock,
            mode=parse_cooldown(plan.cooldown),
            floor_s=min(plan.cooldown_floor, ceiling_s),
            ceiling_s=ceiling_s,
            kind=target.device.kind,
        ):
            self._on_step(last)
        if last is not None and not last.timed_out:
            self._warm.discard(id(target))
        elif last is not None and ceiling_s >= plan.cooldown_max:
            self._warm.add(id(target))
        return last


def bounds_words(plan: Plan) -> str:
    """Describe the longest waits for a phone, before anything is measured.

    >>> from pytest_devperf.case.plan import Plan
    >>> bounds_words(Plan(cooldown="off"))
    'there is no wait for a phone to cool, and no round is taken again'
    """
    mode = parse_cooldown(plan.cooldown)
    if mode.mode == "off":
        return "there is no wait for a phone to cool, and no round is taken again"
    each = f"{mode.seconds:g} s" if mode.mode == "seconds" else f"up to {plan.cooldown_max:g} s"
    return (
        f"a phone is given {each} to cool before each pass, and up to {plan.cooldown_max:g} s a case before rounds in "
        "which it throttled are taken again"
    )
