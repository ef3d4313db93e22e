"""The folders and the store of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_devperf.store.store import Store


@dataclass(frozen=True)
class Storage:
    """Folders and store of a session; the store is opened on first use."""

    root: Path
    """The root folder of the tests."""
    folder: Path
    """The working directory; names given by the user are relative to it."""
    spec: str | None
    """The requested store; None: the default folder."""
    version: str
    """Version of this package, which runs are saved with."""
    make_store: Callable[[str], Store | None]
    """Another plugin's store for a spec."""

    @cached_property
    def store(self) -> Store:
        """The store.

        Raises:
            UsageError: The spec is not a valid store.
        """
        from pytest_devperf.store.open import open_store

        answer = self.make_store(self.spec) if self.spec is not None else None
        return open_store(self.spec, self.root) if answer is None else answer
