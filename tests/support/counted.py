"""What instructions were counted with, made up."""

from __future__ import annotations

from pytest_devperf.record.record import Counting

COUNTING = Counting(
    tool="valgrind-3.19.0",
    abi="x86_64",
    python="CPython 3.11.7",
    libc="glibc 2.36",
    allocator="tcache",
    canary={"a": 10},
)
