"""Compare cases with saved runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.modes.starts import measured_once
from pytest_devperf.session.options.settings import Settings

if TYPE_CHECKING:
    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.compare.policy import Policy
    from pytest_devperf.record.record import Comparison, Record

CompareHook = Callable[["Record", "Baseline", "Policy"], "Comparison | None"]
"""Another plugin's verdict; None: it has none."""


class SavedComparison:
    """Compares cases with their baselines; another plugin's verdict beats ours."""

    def __init__(self, settings: Settings, hook: CompareHook) -> None:
        self._settings = settings
        self._hook = hook

    def of(self, state: CaseState, record: Record) -> Comparison | None:
        """Compare a case; None: nothing is compared."""
        if not self._settings.compare or not (state.measured or state.baseline):
            return None
        if state.baseline is not None:
            answer = self._hook(record, state.baseline, state.policy)
            if answer is not None:
                return answer
        from pytest_devperf.compare.compare import compare

        return compare(record, state.baseline, state.policy, measured_once=measured_once(state))
