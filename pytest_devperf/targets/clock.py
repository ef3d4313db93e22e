"""The clock of this machine."""

from __future__ import annotations

import time


class SystemClock:
    """The real time.

    Both attributes are the built-in functions themselves: a Python method around the counter would cost more than
    the counter.
    """

    now_ns = staticmethod(time.perf_counter_ns)
    sleep = staticmethod(time.sleep)
