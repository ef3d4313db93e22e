"""The source of the loop that times a Python call, compiled for the shape of the call.

A call through `*args` or `partial` costs two to three times an empty call. Therefore the source contains the arguments
of the call, and the loop stays within a few percent of `timeit`.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from types import CodeType, FunctionType
from typing import Any

CompiledLoop = Callable[..., Any]
"""`timing_loop(function, args, kwargs, setup, sync, clock, samples, loops)` fills `samples` with ns (not divided).

The loop of a stream takes two more lists, `firsts` and `rests`, instead of `loops`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopShape:
    """The properties of a call that determine the source of its loop."""

    positional: int
    """Number of positional arguments."""
    keywords: tuple[str, ...] = ()
    """Names of keyword arguments."""
    setup: bool = False
    setup_awaited: bool = False
    sync: bool = False
    sync_awaited: bool = False
    awaited: bool = False
    """Whether the call is awaited; the loop is then a coroutine function."""
    streamed: bool = False
    """Whether the call returns an iterator, which is exhausted."""
    inner: bool = False
    """Whether one sample times several calls."""


def is_plain_keyword(name: str) -> bool:
    """Check whether a keyword argument can be written in source (`f(x=…)`), not only in `**`."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"


def format_call(shape: LoopShape) -> str:
    """Format the call itself.

    >>> format_call(LoopShape(positional=2, keywords=("key",), sync=True))
    'sync(function(a0, a1, key=k0))'
    """
    written = [f"a{index}" for index in range(shape.positional)]
    written += [f"{name}=k{index}" for index, name in enumerate(shape.keywords) if is_plain_keyword(name)]
    if not all(map(is_plain_keyword, shape.keywords)):
        written.append("**rest")
    call = f"function({', '.join(written)})"
    if shape.awaited and not shape.streamed:
        call = f"(await {call})"
    if shape.sync:
        call = f"{'await ' if shape.sync_awaited else ''}sync({call})"
    return call


def format_loop(shape: LoopShape) -> str:
    """Format the source of the loop; there is only the work between two reads of the clock."""
    define = "async def" if shape.awaited else "def"
    lines = [f"{define} timing_loop(function, args, kwargs, setup, sync, clock, samples, *more):"]
    if shape.positional:
        lines.append(f"    ({''.join(f'a{index}, ' for index in range(shape.positional))}) = args")
    lines += [f"    k{index} = kwargs[{name!r}]" for index, name in enumerate(shape.keywords) if is_plain_keyword(name)]
    written = tuple(filter(is_plain_keyword, shape.keywords))
    if len(written) < len(shape.keywords):
        lines.append(f"    rest = {{name: value for name, value in kwargs.items() if name not in {written!r}}}")
    lines += [
        f"    {'firsts, rests' if shape.streamed else 'loops,'} = more",
        "    for index in range(len(samples)):",
    ]
    lines += [f"        {line}" for line in _format_iteration(shape)]
    return "\n".join(lines) + "\n"


def _format_iteration(shape: LoopShape) -> list[str]:
    setup = [f"{'await ' if shape.setup_awaited else ''}setup()"] if shape.setup else []
    if shape.streamed:
        return [*setup, *_format_stream(shape)]
    call = format_call(shape)
    if shape.inner:
        return [
            *setup,
            "passes = repeat(None, loops)",
            "started = clock()",
            "for _ in passes:",
            f"    {call}",
            "samples[index] = clock() - started",
        ]
    return [*setup, "started = clock()", call, "samples[index] = clock() - started"]


def _format_stream(shape: LoopShape) -> list[str]:
    """Format reads of the clock at the call, the first item and the end; without items, the values stay `None`."""
    each = "async for" if shape.awaited else "for"
    begin = "aiter_of" if shape.awaited else "iter"
    return [
        "first = None",
        "count = 0",
        "started = clock()",
        f"stream = {begin}({format_call(shape)})",
        f"{each} item in stream:",
        "    first = clock()",
        "    break",
        f"{each} item in stream:",
        "    count += 1",
        "ended = clock()",
        "samples[index] = ended - started",
        "firsts[index] = None if first is None else first - started",
        "rests[index] = (ended - first) / count if count else None",
    ]


@lru_cache(maxsize=256)
def _code(shape: LoopShape) -> CodeType:
    space: dict[str, Any] = {}
    exec(compile(format_loop(shape), "<devperf timing loop>", "exec"), space)  # noqa: S102 - source of our own, from names that are identifiers
    code: CodeType = space["timing_loop"].__code__
    return code


def _aiter_of(stream: Any) -> Any:  # noqa: ANN401 - any asynchronous iterable
    return type(stream).__aiter__(stream)


def compile_loop(shape: LoopShape) -> CompiledLoop:
    """Compile the loop for a shape.

    The source is compiled once per shape, but each caller gets a separate code object: since Python 3.11 the
    interpreter specialises a code object to the types it has run with, and one case must not slow down because of
    another's types.
    """
    space = {"repeat": repeat, "aiter_of": _aiter_of, "__builtins__": __builtins__, "__tracebackhide__": True}
    return FunctionType(_code(shape).replace(), space, "timing_loop")
