"""Open the store that a user names."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.request import url2pathname

from pytest_devperf.errors import UsageError
from pytest_devperf.store.store import Store

DEFAULT = ".devperf"
"""Default folder for runs, in rootdir."""

_URL = re.compile(r"\A(?!file:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def open_store(spec: str | None, rootdir: str | Path) -> Store:
    """Create the store object for a spec; nothing is read or written yet.

    Args:
        spec: A folder, absolute or below `rootdir`, or a URL that fsspec knows; None: the default folder.
        rootdir: Base of a relative folder.

    Raises:
        UsageError: No installed package supports the URL's protocol, or `~name` is not a user of this machine.
    """
    spec = spec or DEFAULT
    if _URL.match(spec):
        from pytest_devperf.store.remote.store import RemoteStore

        return RemoteStore(spec)
    from pytest_devperf.store.folder import FolderStore

    return FolderStore(Path(rootdir) / expand_home(path_of(spec), what="store"))


def path_of(spec: str) -> str:
    """Return the path that a spec means; an absolute one that begins with `file://` is decoded as a URL.

    >>> path_of("runs%20"), path_of("file://runs"), path_of("file:///srv/our%20runs")
    ('runs%20', 'runs', '/srv/our runs')
    """
    path = spec.removeprefix("file://").removeprefix("localhost") if spec.startswith("file://localhost/") else spec
    if path is spec and not spec.startswith("file:///"):
        return spec.removeprefix("file://")
    return url2pathname(path.removeprefix("file://"))


def expand_home(path: str, *, what: str) -> Path:
    """Replace `~` or `~name` by the home folder.

    Args:
        path: A path as a user wrote it.
        what: What the path is of, for the error.

    Raises:
        UsageError: `~name` is not a user of this machine.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{what} {path!r}: there is no such user of this machine", f"write ./{path}") from error
