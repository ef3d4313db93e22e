"""Make file permissions apply to root as well."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

VERSION_3 = 0x20080522
"""`_LINUX_CAPABILITY_VERSION_3` of <linux/capability.h>: two words for every set."""

OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, which let root bypass permissions."""


class Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Drop this thread's capabilities to bypass file permissions, and restore them afterwards."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = Header(VERSION_3, 0), (Sets * 2)()

    def call(name: str) -> None:
        if getattr(libc, name)(ctypes.byref(header), sets):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    call("capget")
    before = sets[0].effective
    sets[0].effective = before & ~OVERRIDES
    call("capset")
    try:
        yield
    finally:
        sets[0].effective = before
        call("capset")
