"""The clock of this machine."""

from __future__ import annotations

import time


class SystemClock:
    """Real time: monotonic nanoseconds, and a sleep that lasts.

    Both are the built-ins themselves: a method around them would stand between the two reads of every sample.
    """

    now_ns = staticmethod(time.perf_counter_ns)
    sleep = staticmethod(time.sleep)
