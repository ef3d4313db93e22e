"""What a session that measures nothing says of ini keys that had no effect in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_devperf.plugin.marker import is_case
from pytest_devperf.plugin.options import AIMS, read_ini

if TYPE_CHECKING:
    import pytest


def idle_keys(config: pytest.Config) -> Sequence[str]:
    """List the ini keys that name a run to save or to compare with, as the ini file spells them."""
    known = ((row.key, read_ini(config, row)) for row in AIMS)
    return [f"{key} = {value}" for key, value in known if value is not None]


class Idle:
    """Says that a gate in the ini file was not used: a plain `pytest` runs every case once, unmeasured."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._cases = True
        """Whether there are cases; pytest-xdist's controller does not know."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look for cases: a session without any has nothing to measure."""
        self._cases = any(is_case(item) for item in session.items)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write one line."""
        if self._cases:
            from pytest_devperf.untrusted import printable

            keys = printable(", ".join(self._keys))
            terminalreporter.write_line(
                f"devperf: nothing was measured; {keys} in the ini file takes effect with --devperf, "
                "or with devperf = true"
            )
