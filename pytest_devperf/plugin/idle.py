"""What a session that measures nothing says of options and ini keys that had no effect in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_devperf.plugin.marker import is_case
from pytest_devperf.plugin.options import AIMS, typed_rows

if TYPE_CHECKING:
    import pytest


EFFECTIVE = frozenset({"provider"})
"""Options that matter also where cases run once."""


def idle_words(config: pytest.Config) -> Sequence[str]:
    """Say of the ini keys that name a run, and of the options that were typed, when they take effect."""
    keys = ((row.key, str(config.getini(row.key) or "").strip()) for row in AIMS)
    named = ", ".join(f"{key} = {text}" for key, text in keys if text)
    flags = ", ".join(row.flag for row in typed_rows(config) if row.name not in EFFECTIVE)
    words = [f"{named} in the ini file takes effect with --devperf, or with devperf = true"] if named else []
    return [*words, f"add --devperf for {flags} to take effect"] if flags else words


class Idle:
    """Says what had no effect: a plain `pytest` runs every case once, unmeasured."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._cases = True
        """Whether there are cases; pytest-xdist's controller does not know."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look for cases: a session without any has nothing to measure."""
        self._cases = any(is_case(item) for item in session.items)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write one line."""
        if self._cases:
            from pytest_devperf.untrusted import printable

            terminalreporter.write_line(printable(f"devperf: nothing was measured; {'; '.join(self._words)}"))
