"""Runners whose workload is awaited in a running event loop, and code that accepts either kind of runner.

The code that measures is written once, as coroutines. They suspend only while an awaited runner runs; with any other
runner they complete without an event loop.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar, Union

from pytest_devperf.targets.protocol import Answering, Memory, Runner

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.

Result = TypeVar("Result")


class AwaitedRunner(Protocol):
    """A runner whose workload and runs are awaited."""

    load_ns: int | None

    async def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time in the running event loop: (iterations,) ns each, inner loops divided out."""
        ...

    def anchor(self) -> int | None:
        """Time the anchor kernel once, in ns."""
        ...

    async def memory(self, iterations: int) -> Memory | None:
        """Measure memory in a separate pass."""
        ...


AnyRunner = Union[Runner, AwaitedRunner]


async def run_timed(runner: AnyRunner, iterations: int, inner_loops: int) -> Sequence[float]:
    """Run and time a runner of either kind."""
    given = runner.run(iterations, inner_loops)
    return given if isinstance(given, Sequence) else await given


def run_now(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never suspends, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: Result = ended.value
        return result
    coroutine.close()
    raise RuntimeError("an awaited runner was measured outside its event loop")


def result_of(runner: Runner) -> Any:  # noqa: ANN401 - whatever the workload returns
    """Return the result of a runner's workload; None if the runner does not provide it."""
    return runner.result() if isinstance(runner, Answering) else None
