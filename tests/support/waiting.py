"""Wait for states, and run programs that end with their test."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psutil

T = TypeVar("T")

LOOK_EVERY_S = 0.02


def until(state: Callable[[], T]) -> T:
    """Wait until a state is reached, however long it takes; the suite's limit for a test ends the wait."""
    while not (found := state()):
        time.sleep(LOOK_EVERY_S)
    return found


def has_ended(pid: int) -> bool:
    """Find out whether a process has ended; a zombie has, though its parent has not asked yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@contextmanager
def running(words: list[str], **how: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a program in parallel to a block and wait for its exit; if the block raises, end it."""
    with subprocess.Popen(words, **how) as process:
        try:
            yield process
            process.wait()
        except BaseException:
            process.kill()
            raise
