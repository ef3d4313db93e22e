"""Client requests: a program asks the valgrind that runs it to begin, end and write counts.

A request is a sequence of instructions without effect, which valgrind recognises. They are written into an executable
page, so that no extension has to be compiled.

Source: `VALGRIND_DO_CLIENT_REQUEST_EXPR` in valgrind.h, and callgrind.h.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
from collections.abc import Callable
from functools import partial

from pytest_devperf.errors import Unsupported

CODE = {
    # mov %rdi,%rax; mov %rsi,%rdx; rol 3, 13, 61, 51 of %rdi; xchg %rbx,%rbx; mov %rdx,%rax; ret
    "x86_64": bytes.fromhex("4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3"),
    # mov x3,x1; mov x4,x0; ror x12 by 3, 13, 51, 61; orr x10,x10,x10; mov x0,x3; ret
    "aarch64": struct.pack(
        "<9I",
        *(0xAA0103E3, 0xAA0003E4, 0x93CC0D8C, 0x93CC358C, 0x93CCCD8C, 0x93CCF58C, 0xAA0A014A, 0xAA0303E0, 0xD65F03C0),
    ),
}
"""A function `(request, default) -> answer` for each processor; without valgrind it returns the default."""

RUNNING_ON_VALGRIND = 0x1001

_CALLGRIND = 0x43540000
ZERO_STATS, TOGGLE_COLLECT, DUMP_STATS_AT, START_INSTRUMENTATION, STOP_INSTRUMENTATION = range(
    _CALLGRIND + 1, _CALLGRIND + 6
)

ARGUMENTS = 6
"""Words of a request: its number and five arguments."""

READ_EXECUTE = mmap.PROT_READ | getattr(mmap, "PROT_EXEC", 0)

Request = Callable[[], int]
"""A request with its arguments, ready to be sent: sending it allocates next to nothing."""


class ClientRequests:
    """The requests that counting needs."""

    def __init__(self) -> None:
        """Write the instructions into a page, and make it executable.

        Raises:
            Unsupported: The processor is unknown, or the system forbids such a page.
        """
        code = CODE.get(platform.machine())
        if code is None:
            raise Unsupported(f"instructions are counted on {' and '.join(CODE)} only, not on {platform.machine()}")
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._page.write(code)
        self._first = ctypes.c_char.from_buffer(self._page)
        address = ctypes.addressof(self._first)
        _make_executable(address)
        # PYFUNCTYPE keeps the GIL: no other thread may run between two requests.
        self._send = ctypes.PYFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong)(address)
        self._kept: list[object] = []
        """Arguments that prepared requests point to."""
        self.start = self._request(START_INSTRUMENTATION)
        self.stop = self._request(STOP_INSTRUMENTATION)
        self.zero = self._request(ZERO_STATS)
        self.toggle = self._request(TOGGLE_COLLECT)
        name = ctypes.create_string_buffer(b"devperf")
        self._kept.append(name)
        self.dump = self._request(DUMP_STATS_AT, ctypes.addressof(name))

    @property
    def answered(self) -> bool:
        """Whether a valgrind runs this process."""
        return self._request(RUNNING_ON_VALGRIND)() > 0

    def _request(self, number: int, argument: int = 0) -> Request:
        words = (ctypes.c_ulong * ARGUMENTS)(number, argument)
        self._kept.append(words)
        return partial(self._send, ctypes.addressof(words), 0)


def _make_executable(address: int) -> None:
    """Make a page executable that is written: it is never both at once, which hardened kernels forbid."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if libc.mprotect(address, mmap.PAGESIZE, READ_EXECUTE):
        raise Unsupported(
            "this system forbids pages that are made executable, which counting instructions needs (SELinux: execmem)"
        )
