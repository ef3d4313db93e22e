"""Undo changes on a device however the process ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from pytest_devperf.errors import DevperfError

DEADLY = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end Python without unwinding. SIGINT is raised as KeyboardInterrupt and unwinds."""


class ExitGuard:
    """Calls a function at the end of the process, and when a signal ends it.

    Args:
        undo: Undoes the changes; does nothing when called again.
    """

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo = undo
        self._before: dict[int, Any] = {}

    def arm(self) -> None:
        """Install the handlers; only the main thread may install signal handlers."""
        atexit.register(self._undo_quietly)
        if threading.current_thread() is threading.main_thread():
            for number in DEADLY:
                if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup: the signal does not end this process
                    self._before[number] = signal.signal(number, self._on_signal)

    def disarm(self) -> None:
        """Restore the earlier handlers, unless other code has installed one meanwhile."""
        atexit.unregister(self._undo_quietly)
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._before.clear()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        before = self._before.get(number)
        self._undo_quietly()
        if callable(before):
            before(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _undo_quietly(self) -> None:
        with contextlib.suppress(DevperfError, OSError):
            self._undo()
