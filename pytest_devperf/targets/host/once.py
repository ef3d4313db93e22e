"""One call of a workload that is not timed: the first of a process start, or the only one of an ordinary test."""

from __future__ import annotations

import inspect
from typing import Any

from pytest_devperf.case.fingerprint import named_inputs
from pytest_devperf.case.function import is_used_up, name_of, refuse_unfinished, what_it_gives, with_article
from pytest_devperf.case.workload import Call
from pytest_devperf.errors import CaseError

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.


def is_awaited(call: Call) -> bool:
    """Check whether a call needs an event loop."""
    return call.shape == "coroutine" or (call.shape == "stream" and what_it_gives(call.function) == "async generator")


def refuse_used_up(call: Call) -> None:
    """Refuse an argument that the first call exhausted: further calls would find it empty.

    Raises:
        CaseError: There is such an argument.
    """
    for name, value in named_inputs(call).items():
        if is_used_up(value):
            kind = with_article(type(value).__qualname__)
            raise CaseError(
                f"{name} of {name_of(call.function)} is {kind}, which the first call used up",
                "pass a list, or create it within the measured function",
            )


def call_once(call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
    """Make one call, its setup and sync included; for a stream, return the list of its items.

    Raises:
        CaseError: The call returns something that must be awaited or iterated, not a result.
    """
    if call.setup is not None:
        call.setup()
    result = call.function(*call.args, **call.kwargs)
    if call.shape == "plain" and call.sync is None:
        refuse_unfinished(call.function, result)
    if call.shape == "stream":
        result = _items(call, result)
    if call.sync is not None:
        call.sync(result)
    return result


async def await_once(call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
    """Make and await one call, its setup and sync included.

    Raises:
        CaseError: The call returned nothing to await.
    """
    if call.setup is not None:
        await _settled(call.setup())
    given = call.function(*call.args, **call.kwargs)
    if call.shape == "stream":
        result: Any = [item async for item in given]
    elif inspect.isawaitable(given):
        result = await given
    else:
        raise CaseError(f"{name_of(call.function)} returned nothing to await", "call it without await")
    if call.sync is not None:
        await _settled(call.sync(result))
    return result


def _items(call: Call, stream: Any) -> list[Any]:  # noqa: ANN401 - whatever the call returns
    if not hasattr(type(stream), "__iter__"):
        raise CaseError(
            f"{name_of(call.function)} returned {type(stream).__qualname__}, which is not a stream",
            "return an iterator, or pass the async generator function itself",
        )
    return list(stream)


async def _settled(value: Any) -> Any:  # noqa: ANN401 - whatever a setup or sync returns
    return await value if inspect.isawaitable(value) else value
