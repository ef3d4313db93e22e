"""What fails a session besides its tests: a gate that could not hold, and results that were not kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Suite
    from pytest_devperf.plugin.baseline import Baselines
    from pytest_devperf.plugin.chosen import Options
    from pytest_devperf.plugin.collected import Collected
    from pytest_devperf.plugin.keep import Keeper
    from pytest_devperf.plugin.ledger import Ledger


class Gate:
    """The end of a session: what is missing, what is kept, and whether pytest's exit code may say success."""

    def __init__(self, options: Options, suite: Suite, ledger: Ledger, collected: Collected, keeper: Keeper) -> None:
        self._options = options
        self._suite = suite
        self._ledger = ledger
        self._collected = collected
        self._keeper = keeper

    @property
    def _is_wanted(self) -> bool:
        """Whether a success says that something was compared or saved."""
        options = self._options
        return any(each is not None for each in (options.compare, options.against, options.save))

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Let `pytest.exit(returncode=0)` end no session as a success before the gate was closed."""
        try:
            yield
        except pytest.exit.Exception as stop:
            if self._is_wanted and self._ledger.entries and stop.returncode == pytest.ExitCode.OK:
                stop.returncode = pytest.ExitCode.TESTS_FAILED
            raise

    def close(self, session: pytest.Session, baselines: Baselines) -> None:
        """Keep what was measured, and fail the session if a gate did not hold."""
        options = self._options
        selected = {entry.case.id for entry in self._ledger}
        missing = self._collected.missing(baselines, selected, self._suite, always=options.fail_on_missing is True)
        accounted = selected.union(*(each.cases for each in missing))
        self._keeper.keep(self._ledger, missing, unselected=len(baselines.cases(self._suite) - accounted))
        strict = not self._collected.narrowed if options.fail_on_missing is None else options.fail_on_missing
        failures = (
            strict and bool(missing),
            self._is_wanted and bool(self._ledger.unfinished),
            self._keeper.failed or self._keeper.report(self._ledger).nothing_compared,
            self._nothing_ran(),
        )
        session.testsfailed += sum(failures)

    def _nothing_ran(self) -> bool:
        """Whether a target was named and none of the cases ran there, each being skipped."""
        if self._options.target == "auto" or not self._ledger.entries:
            return False
        return all(entry.skip_reason is not None for entry in self._ledger)
