"""Check that a test awaits the calls that must be awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from pytest_devperf.case.function import name_of
from pytest_devperf.case.workload import Call
from pytest_devperf.errors import CaseError


class AwaitedCalls:
    """Remembers the calls that a test has to await, until it does."""

    def __init__(self) -> None:
        self._open: dict[str, Coroutine[Any, Any, Any]] = {}
        """Measurements that were returned and not awaited yet, by metric."""
        self._plain: dict[str, Call] = {}
        """Plain calls made in a coroutine, by the type of their result."""

    def hand_out(self, metric: str, work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        """Return a measurement that begins when it is awaited."""

        async def awaited() -> Any:  # noqa: ANN401 - whatever is awaited
            del self._open[metric]
            return await work()

        coroutine = self._open[metric] = awaited()
        return coroutine

    def note_plain(self, call: Call, result: object) -> None:
        """Remember a plain call that was made in a coroutine."""
        self._plain[type(result).__name__] = call

    def explain(self, error: TypeError) -> None:
        """Add an explanation to the error of a test that awaited the result of a plain function."""
        text = str(error)
        call = next((call for kind, call in self._plain.items() if kind in text and "await" in text), None)
        if call is not None:
            name = name_of(call.function)
            error.args = (f"{text}: {name} is no coroutine function, so devperf({name}, ...) is called without await",)

    def close(self, case_id: str) -> None:
        """End the test.

        Raises:
            CaseError: A measurement was never awaited: nothing was measured.
        """
        forgotten = list(self._open)
        for coroutine in self._open.values():
            coroutine.close()
        self._open.clear()
        if forgotten:
            raise CaseError(
                f"{case_id}: {forgotten[0]!r} was never awaited, so nothing was measured",
                "write await devperf(function, ...)",
            )
