"""The instructions for a process start of a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from pytest_devperf.errors import CaseError
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.session.starts.start import Role


class Orders(Protocol):
    """The instructions for a process start."""

    process: int
    """Zero-based index of the process start."""
    role: Role

    def start_plan(self, metric: str) -> StartPlan:
        """Return the plan of a metric.

        Raises:
            CaseError: An earlier process start did not measure this metric.
        """
        ...


class FirstOrders:
    """Orders of start 1: each plan is made when the test begins to measure the metric."""

    def __init__(self, role: Role, plan: Callable[[str], StartPlan]) -> None:
        self.process = 0
        self.role = role
        self._plan = plan

    def start_plan(self, metric: str) -> StartPlan:
        """Return the plan of a metric."""
        return self._plan(metric)


class LaterOrders:
    """Orders of a later start: the plans are based on the results of start 1."""

    def __init__(self, case_id: str, process: int, role: Role, start_plans: Mapping[str, StartPlan]) -> None:
        self.process = process
        self.role = role
        self._case_id = case_id
        self._plans = start_plans

    def start_plan(self, metric: str) -> StartPlan:
        """Return the plan of a metric.

        Raises:
            CaseError: Start 1 did not measure it.
        """
        try:
            return replace(self._plans[metric], process=self.process)
        except KeyError:
            raise CaseError(
                f"{self._case_id}: metric {metric!r} was measured in process start {self.process + 1}, "
                "but not in the first",
                "measure the same metrics in every start",
            ) from None
