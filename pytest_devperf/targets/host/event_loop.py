"""The event loop in which the test runs, whichever library it belongs to, and event loops created here."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
"""Flags of code that only an event loop runs."""

_OUTSIDE = ("_pytest.", "pluggy.")
"""Modules whose frames enclose the test: pytest itself may run in a coroutine, as in a notebook."""


def is_in_coroutine() -> bool:
    """Check whether a coroutine of the test called this function, directly or not."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other way to all libraries' coroutines
    while frame is not None and not str(frame.f_globals.get("__name__", "")).startswith(_OUTSIDE):
        if frame.f_code.co_flags & _COROUTINE:
            return True
        frame = frame.f_back
    return False


async def let_loop_act() -> None:
    """Suspend once, so that a timeout or a cancellation takes effect; only asyncio and trio need this."""
    trio: Any = sys.modules.get("trio")
    if trio is not None and _is_in_trio(trio):
        await trio.lowlevel.checkpoint()
        return
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    await asyncio.sleep(0)


def _is_in_trio(trio: Any) -> bool:  # noqa: ANN401 - the library itself
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def run_in_loop(work: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - whatever is awaited
    """Await something in a new event loop, and leave no trace in the thread.

    `asyncio.run` would leave the thread without a current loop.
    """
    import asyncio

    events = asyncio.new_event_loop()
    try:
        return events.run_until_complete(work())
    finally:
        wind_down(events)


def wind_down(events: asyncio.AbstractEventLoop) -> None:
    """Close an event loop as `asyncio.run` does: first cancel the tasks that are still running."""
    import asyncio

    try:
        left = asyncio.all_tasks(events)
        for task in left:
            task.cancel()
        if left:
            events.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        events.run_until_complete(events.shutdown_asyncgens())
        events.run_until_complete(events.shutdown_default_executor())
    finally:
        events.close()
