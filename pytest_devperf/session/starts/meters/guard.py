"""Keep the measurements of one test apart, and remember one that was not brought to its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_devperf.errors import CaseError

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception goes from the test to where it was raised.


class Guard:
    """Watches over the measurements of one test."""

    def __init__(self, case_id: str) -> None:
        self._case_id = case_id
        self._running: str | None = None
        """The measurement in progress."""
        self._broken: str | None = None
        """Why a measurement did not complete."""

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Refuse a measurement that begins during another one of this test."""
        if self._running is not None:
            raise CaseError(
                f"{self._case_id}: {name!r} was called during the measurement of {self._running!r}",
                "measure one after the other",
            )
        self._running = name
        try:
            yield
        finally:
            self._running = None

    @contextmanager
    def unbroken(self, name: str) -> Iterator[None]:
        """Record a measurement that ends with an exception: even if the test catches it, the measurement is missing."""
        try:
            yield
        except BaseException as error:
            self._broken = f"the measurement of {name!r} ended with {type(error).__name__}"
            raise

    def refuse_broken(self) -> None:
        """Refuse a test that caught the exception of a measurement.

        Raises:
            CaseError: It did.
        """
        if self._broken is not None:
            raise CaseError(
                f"{self._case_id}: {self._broken}, which the test caught",
                "do not catch it, or measure a workload that does not raise",
            )
