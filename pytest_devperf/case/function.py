"""Inspect functions: their name, the kind of result that a call returns, and results that cannot be measured."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Literal

from pytest_devperf.case.array import defines
from pytest_devperf.errors import CaseError

Gives = Literal["result", "coroutine", "generator", "async generator"]


def name_of(function: object) -> str:
    """Return a function's name as its author wrote it; for a callable object, the name of its type."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        name = getattr(function, "__qualname__", None)
    except Exception:  # noqa: BLE001 - an object's own code may raise anything
        name = None
    return name if type(name) is str else type(function).__qualname__


def what_it_gives(function: Any) -> Gives:  # noqa: ANN401 - any callable
    """Return the kind of result of a call; partials, methods and objects with a `__call__` are supported."""
    # Calling an object runs the `__call__` of its type.
    given = {_by_its_code(function), _by_its_code(getattr(type(function), "__call__", None))} - {"result"}  # noqa: B004
    return given.pop() if given else "result"


def _by_its_code(function: Any) -> Gives:  # noqa: ANN401 - any callable
    try:
        if inspect.iscoroutinefunction(function):
            return "coroutine"
        if inspect.isgeneratorfunction(function):
            return "generator"
        if inspect.isasyncgenfunction(function):
            return "async generator"
    except Exception:  # noqa: BLE001 - an object's own code may raise anything
        return "result"
    return "result"


def refuse_uncallable(given: object, *, word: str) -> None:
    """Refuse an argument that is not callable, usually the result of a call instead of the function.

    Args:
        given: The value passed as the function.
        word: The parameter: `devperf`, `setup=`.

    Raises:
        CaseError: It is not callable.
    """
    if callable(given):
        return
    if type(given) is CoroutineType:
        given.close()
    raise CaseError(
        f"{word} was given {with_article(type(given).__qualname__)}, which is not callable",
        "pass the function, and its arguments after it",
    )


def with_article(noun: str) -> str:
    """Put the indefinite article before a noun.

    >>> with_article("int"), with_article("generator")
    ('an int', 'a generator')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def is_used_up(value: object) -> bool:
    """Return whether a value is an exhausted iterator; False if the iterator does not report its length."""
    if type(value) is GeneratorType:
        return inspect.getgeneratorstate(value) == inspect.GEN_CLOSED
    return type(value) in _COUNTED_ITERATORS and operator.length_hint(value, 1) == 0


_ITERABLES: tuple[Any, ...] = ([], (), {}, {}.values(), {}.items(), set(), range(0), "", b"", bytearray())

_COUNTED_ITERATORS = frozenset(type(iter(each)) for each in _ITERABLES) | {type(reversed([])), type(reversed(range(0)))}
"""Built-in iterators that know how many items are left."""


def refuse_unfinished(function: object, result: object) -> None:
    """Refuse a result that still has to be computed: only its creation would be timed.

    Raises:
        CaseError: It is a generator, a coroutine or a future.
    """
    name = name_of(function)
    if type(result) is CoroutineType:
        result.close()
        raise CaseError(
            f"{name} returned a coroutine, so only its creation would be timed",
            f"pass a function that is declared with async def: await devperf({name}, ...)",
        )
    if type(result) is GeneratorType:
        result.close()
    if type(result) in {GeneratorType, AsyncGeneratorType}:
        raise CaseError(
            f"{name} returned a generator, so only its creation would be timed",
            f"use devperf.stream({name}, ...), which exhausts it",
        )
    if defines(type(result), "__await__") or _is_future(result):
        raise CaseError(
            f"{name} returned {with_article(type(result).__qualname__)}, so only its creation would be timed",
            f"wait for it in the function, or with sync= of devperf.measure(name, {name}, ...)",
        )


def _is_future(result: object) -> bool:
    """Return whether a result is a future of a thread or process pool."""
    futures: Any = sys.modules.get("concurrent.futures")
    return futures is not None and issubclass(type(result), futures.Future)
