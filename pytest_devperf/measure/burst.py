"""Bursts of a runner, whether it answers at once or is awaited in the event loop that its workload lives in.

Measuring is written once, as coroutines: they suspend only in an awaited runner's bursts, so that with any other
runner they can be run to their end without a loop.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar, Union

from pytest_devperf.targets.protocol import Memory, Runner

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

Result = TypeVar("Result")


class AwaitedRunner(Protocol):
    """A runner whose workload is awaited: its bursts are, too."""

    load_ns: int | None

    async def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time in the running event loop: (iterations,) ns each, inner loops divided out."""
        ...

    def anchor(self) -> int | None:
        """Time the fixed kernel once, in ns."""
        ...

    async def memory(self, iterations: int) -> Memory | None:
        """Take sizes in a pass of its own."""
        ...


AnyRunner = Union[Runner, AwaitedRunner]


async def burst(runner: AnyRunner, iterations: int, inner_loops: int) -> Sequence[float]:
    """Run and time a runner, whichever kind it is."""
    given = runner.run(iterations, inner_loops)
    return given if isinstance(given, Sequence) else await given


def run_now(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end in which nothing suspends."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: Result = ended.value
        return result
    coroutine.close()
    raise RuntimeError("an awaited runner was measured outside its event loop")
