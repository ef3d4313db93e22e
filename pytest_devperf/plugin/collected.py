"""What a session collected, what the user left out of it, and which cases of a baseline are missing therefore."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.plugin.cases import merged_keywords
from pytest_devperf.plugin.marker import is_case
from pytest_devperf.plugin.selection import id_of, scope_of
from pytest_devperf.plugin.suites import LEFT_OUT

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Suite
    from pytest_devperf.plugin.baseline import Baselines, Missing


class Collected:
    """The hooks that watch a collection; with pytest-xdist the workers' collections, which the controller is told."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.ids: set[str] | None = None
        """Ids of the cases that were collected, deselected ones too; None until pytest has collected without an
        error."""
        self.deselected = 0
        """How many cases the user deselected."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """Note which cases there are, before any is deselected."""
        self.ids = {id_of(item, merged_keywords(item)) for item in items if is_case(item)}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the cases that the user deselected; our own suite does not count."""
        self.deselected += sum(1 for item in items if is_case(item) and not item.stash.get(LEFT_OUT, False))

    @property
    def narrowed(self) -> bool:
        """Whether the user left cases out, beside those outside the paths given."""
        return self.deselected > 0 or self._only_failed

    @property
    def _only_failed(self) -> bool:
        """Whether `--lf` leaves whole files out, which pytest reports to nobody."""
        return bool(self._config.getoption("lf", default=False))

    def missing(
        self, baselines: Baselines, selected: Collection[str], suite: Suite, *, always: bool
    ) -> Sequence[Missing]:
        """Find the cases of the baselines that this command could have measured and did not.

        Args:
            baselines: What the session compares with.
            selected: Ids of the selected cases.
            suite: The suite asked for.
            always: Whether cases count that the user deselected.
        """
        missing = baselines.missing(selected, suite, scope_of(self._config))
        if not self.narrowed or always:
            return missing
        if selected:
            vanished = ((each, tuple(case for case in each.cases if not self._holds(case))) for each in missing)
            return [replace(each, cases=cases) for each, cases in vanished if cases]
        collected = self.ids or set()
        none_left = collected.isdisjoint(case for each in missing for case in each.cases)
        return missing if none_left and not self._only_failed else ()

    def _holds(self, case_id: str) -> bool:
        """Tell whether a case was there to be selected, an app's by its test."""
        ids = self.ids or set()
        return self._only_failed or case_id in ids or any(case_id.startswith(f"{host}[") for host in ids)
