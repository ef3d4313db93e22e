"""The folder on this machine for files that phones need, and for copies of undo journals."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_devperf.errors import UsageError

FOLDER_VARIABLE = "PYTEST_DEVPERF_ANDROID"
"""Environment variable that sets another folder for `devperf setup-android`."""


def setup_folder() -> Path:
    """Return the folder of the setups, one per ABI."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "pytest-devperf" / "android"


def unwritable(path: Path, error: OSError) -> UsageError:
    """Create the error for a file or folder that is not writable; it names the variable for another place."""
    return UsageError(
        f"cannot write {path} ({error.strerror or error})",
        f"make it writable, or set another folder in {FOLDER_VARIABLE}",
    )
