"""What a function is called and what calling it gives, as far as it shows before it is called."""

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
    """Name a function as its author does; an object that can be called by its type."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        name = getattr(function, "__qualname__", None)
    except Exception:  # noqa: BLE001 - whatever an object's own code raises
        name = None
    return name if type(name) is str else type(function).__qualname__


def what_it_gives(function: Any) -> Gives:  # noqa: ANN401 - whatever can be called
    """Tell what calling a function gives; also for partials, methods and objects with a `__call__`."""
    # Of an object its type's `__call__` is what runs.
    given = {_by_its_code(function), _by_its_code(getattr(type(function), "__call__", None))} - {"result"}  # noqa: B004
    return given.pop() if given else "result"


def _by_its_code(function: Any) -> Gives:  # noqa: ANN401 - whatever can be called
    try:
        if inspect.iscoroutinefunction(function):
            return "coroutine"
        if inspect.isgeneratorfunction(function):
            return "generator"
        if inspect.isasyncgenfunction(function):
            return "async generator"
    except Exception:  # noqa: BLE001 - whatever an object's own code raises
        return "result"
    return "result"


def refuse_uncallable(given: object, *, word: str) -> None:
    """Refuse what cannot be called: mostly the result of a call, written where the function belongs.

    Args:
        given: What stands where a function belongs.
        word: What it is to be: `devperf`, `setup=`.

    Raises:
        CaseError: It cannot be called.
    """
    if callable(given):
        return
    if type(given) is CoroutineType:
        given.close()
    raise CaseError(
        f"{word} was given {with_article(type(given).__qualname__)}, which cannot be called",
        "pass the function, and its arguments after it",
    )


def with_article(noun: str) -> str:
    """Put an article before a noun.

    >>> with_article("int"), with_article("generator")
    ('an int', 'a generator')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def is_used_up(value: object) -> bool:
    """Tell whether a value is an iterator that has nothing left to give; one that does not say so is not."""
    if type(value) is GeneratorType:
        return inspect.getgeneratorstate(value) == inspect.GEN_CLOSED
    return type(value) in _COUNTED_ITERATORS and operator.length_hint(value, 1) == 0


_ITERABLES: tuple[Any, ...] = ([], (), {}, {}.values(), {}.items(), set(), range(0), "", b"", bytearray())

_COUNTED_ITERATORS = frozenset(type(iter(each)) for each in _ITERABLES) | {type(reversed([])), type(reversed(range(0)))}
"""Built-in iterators that know how much is left."""


def refuse_unfinished(function: object, result: object) -> None:
    """Refuse a result that is work still to be done: only its making would be timed.

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
    """Tell whether a result is one of a thread or process pool."""
    futures: Any = sys.modules.get("concurrent.futures")
    return futures is not None and issubclass(type(result), futures.Future)
