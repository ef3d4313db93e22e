"""Requests to a server: made again if it may answer later, and shown without their secrets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

_URL = re.compile(r"(://)([^/@\s]*@)?([^?\s]*)(\?\S*)?")
"""A URL: scheme, user and password, host and path, query."""


def without_secrets(text: str) -> str:
    """Remove passwords and signatures from the URLs in a text, so that it can be printed and logged.

    >>> without_secrets("sftp://me:secret@host/runs"), without_secrets("az://runs?sig=abc&v=1")
    ('sftp://***@host/runs', 'az://runs?sig=***&v=***')
    """

    def masked(found: re.Match[str]) -> str:
        query = re.sub(r"=[^&]*", "=***", found[4] or "")
        return f"{found[1]}{'***@' if found[2] else ''}{found[3]}{query}"

    return _URL.sub(masked, text)


Result = TypeVar("Result")

DELAYS_S = (0.2, 1.0, 5.0)
"""Waits before a request is made again: a server restarts in seconds, and fsspec's packages try again, too."""

PERMANENT = (
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    NotImplementedError,
)
"""Errors that another attempt would give again."""


def is_transient(error: BaseException) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, PERMANENT):
        return False
    names = "".join(each.__name__ for each in type(error).__mro__)
    return isinstance(error, OSError) or any(word in names for word in ("Timeout", "Connect", "Disconnected"))


def persist(request: Callable[[], Result]) -> Result:
    """Make a request, and make it again if the server may answer later."""
    for delay_s in DELAYS_S:
        try:
            return request()
        except Exception as error:
            if not is_transient(error):
                raise
        time.sleep(delay_s)
    return request()
