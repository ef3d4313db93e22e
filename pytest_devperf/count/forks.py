"""Run something in a fork of this process that has another memory layout, and take what it returns."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

BALLAST_BLOCKS = 4000
"""Blocks that a fork holds, 4 MB: enough that nothing of what follows lies where it lay in another fork."""

BALLAST_BYTES = 2000
"""Size of the largest block; small ones go through the allocator's caches, larger ones do not."""


class ForkDied(Exception):
    """A fork ended before it returned anything."""

    def __init__(self, status: int) -> None:
        """Keep the exit status as `os.waitstatus_to_exitcode` gives it."""
        super().__init__(f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}")
        self.status = status


def run_in_fork(work: Callable[[], Mapping[str, Any]], seed: int) -> Mapping[str, Any]:
    """Run a function in a fork, after the fork has allocated ballast that depends on a seed.

    Args:
        work: Returns plain data, which travels as JSON.
        seed: Of the ballast: the same seed gives the same layout.

    Raises:
        ForkDied: The fork ended before it returned anything.
    """
    reading, writing = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # or both processes write it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of plugins do not survive, and are not needed
        child = os.fork()
    if child == 0:
        os.close(reading)
        _be_the_fork(work, seed, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:  # noqa: PTH123 - a descriptor
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code or not answer:
        raise ForkDied(code)
    found: Mapping[str, Any] = json.loads(answer)
    return found


def _be_the_fork(work: Callable[[], Mapping[str, Any]], seed: int, writing: int) -> NoReturn:
    """Run the function and exit without what an interpreter does at its end: that is the parent's to do."""
    code = 1
    try:
        ballast = hold_ballast(seed)
        answer = json.dumps(work(), default=repr).encode("ascii")
        del ballast
        with open(writing, "wb") as pipe:
            pipe.write(answer)
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may return from here: two processes would go on
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def hold_ballast(seed: int) -> list[bytes]:
    """Allocate blocks of mixed sizes; the layout of the memory depends on the seed alone."""
    draw = random.Random(seed)  # noqa: S311 - sizes, not secrets
    return [bytes(draw.randrange(1, BALLAST_BYTES)) for _ in range(BALLAST_BLOCKS)]
