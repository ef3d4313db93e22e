"""Read Windows performance counters through PDH, which takes about 1 ms and expands wildcards on every read.

`typeperf` and `Get-Counter` take a second for one reading and expand a wildcard only once.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

Instances = Sequence[tuple[str, float]]
"""Values of a wildcard counter by instance name."""

COUNTERS = (
    r"\GPU Engine(*)\Utilization Percentage",
    r"\GPU Adapter Memory(*)\Dedicated Usage",
    r"\GPU Adapter Memory(*)\Shared Usage",
)
"""English paths, which PdhAddEnglishCounter accepts in every language (Windows 10 1709 and later)."""

FORMAT_DOUBLE = 0x00000200
MORE_DATA = 0x800007D2
"""PDH_FMT_DOUBLE and PDH_MORE_DATA. Source: Microsoft, pdh.h and pdhmsg.h."""

VALID = (0, 1)
"""PDH_CSTATUS_VALID_DATA and PDH_CSTATUS_NEW_DATA."""


class _Value(ctypes.Structure):
    """PDH_FMT_COUNTERVALUE with the double of its union."""

    _fields_ = (("status", ctypes.c_uint32), ("value", ctypes.c_double))


class _Item(ctypes.Structure):
    """PDH_FMT_COUNTERVALUE_ITEM_W."""

    _fields_ = (("name", ctypes.c_wchar_p), ("value", _Value))


class Counters:
    """An open query of the three GPU counters."""

    def __init__(self, pdh: Any, query: Any, counters: Sequence[Any]) -> None:  # noqa: ANN401 - ctypes handles
        self._pdh = pdh
        self._query = query
        self._counters = counters

    def collect(self) -> tuple[Instances, Instances, Instances]:
        """Read engines, dedicated and shared memory; use is the mean since the previous collection."""
        if self._pdh.PdhCollectQueryData(self._query):
            return (), (), ()
        engines, local, shared = (self._values(counter) for counter in self._counters)
        return engines, local, shared

    def _values(self, counter: Any) -> Instances:  # noqa: ANN401 - a ctypes handle
        size, count = ctypes.c_uint32(), ctypes.c_uint32()
        ask = self._pdh.PdhGetFormattedCounterArrayW
        status = ask(counter, FORMAT_DOUBLE, ctypes.byref(size), ctypes.byref(count), None)
        if status & 0xFFFFFFFF != MORE_DATA:
            return ()
        buffer = ctypes.create_string_buffer(size.value)
        if ask(counter, FORMAT_DOUBLE, ctypes.byref(size), ctypes.byref(count), buffer):
            return ()
        items = ctypes.cast(buffer, ctypes.POINTER(_Item))
        found = (items[index] for index in range(count.value))
        return tuple((str(item.name), float(item.value.value)) for item in found if item.value.status in VALID)


def open_counters() -> Counters | None:
    """Open the query; return None if this is not Windows, or these counters don't exist."""
    if sys.platform == "win32":
        try:
            return _open(ctypes.windll.LoadLibrary("pdh.dll"))
        except OSError:
            return None
    return None


def _open(pdh: Any) -> Counters | None:  # noqa: ANN401 - a ctypes library
    query = ctypes.c_void_p()
    if pdh.PdhOpenQueryW(None, None, ctypes.byref(query)):
        return None
    counters = []
    for path in COUNTERS:
        counter = ctypes.c_void_p()
        if pdh.PdhAddEnglishCounterW(query, path, None, ctypes.byref(counter)):
            pdh.PdhCloseQuery(query)
            return None
        counters.append(counter)
    # A rate needs a first collection.
    pdh.PdhCollectQueryData(query)
    return Counters(pdh, query, counters)
