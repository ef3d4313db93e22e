"""A fixed piece of work, timed around the rounds: it tells a slow machine from slow code."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable

ANCHOR_BYTES = 65_536
"""64 KiB: about 65 us, long against the clock's step and short against a round; fits the second-level cache."""

_TEXT = bytes(range(256)) * (ANCHOR_BYTES // 256)

ANCHOR_IDENTITY = f"blake2b-64k/1 {platform.python_implementation()} {platform.python_version()} {platform.machine()}"
"""What was timed and by which implementation: CPython's own C code. Anchors of two identities are not compared."""


def anchor_identity() -> str:
    """Name the kernel and the implementation that runs it; stored in `Context.anchor`."""
    return ANCHOR_IDENTITY


def time_anchor(now_ns: Callable[[], int]) -> int:
    """Time the kernel once, in ns.

    BLAKE2b is interpreter code in C: deaf to tracing, hash seed and heap, unlike OpenSSL's digests
    the same from one system to the next.
    """
    blake2b = hashlib.blake2b
    text = _TEXT
    started = now_ns()
    blake2b(text).digest()
    return now_ns() - started
