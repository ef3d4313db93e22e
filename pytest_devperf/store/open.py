"""Which store a word of the user's means."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.store.store import Store

DEFAULT = ".devperf"
"""Folder in rootdir that keeps runs where nothing else is named."""

_URL = re.compile(r"\A(?!file:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def open_store(spec: str | None, rootdir: str | Path) -> Store:
    """Make the store that a spec names; nothing is read or written yet.

    Args:
        spec: A folder, absolute or below `rootdir`; None: the default one.
        rootdir: What a relative folder starts from.

    Raises:
        UsageError: It names something that is no folder.
    """
    spec = spec or DEFAULT
    if _URL.match(spec):
        raise UsageError(f"--devperf-store={spec} is not a folder", "only folders can keep runs in this version")
    from pytest_devperf.store.folder import FolderStore

    return FolderStore(Path(rootdir) / Path(spec.removeprefix("file://")).expanduser())
