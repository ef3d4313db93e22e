"""The folder of this machine that keeps what phones need, and copies of undo journals."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_devperf.errors import UsageError

FOLDER_VARIABLE = "PYTEST_DEVPERF_ANDROID"
"""Environment variable that names another folder for what `devperf setup-android` stores."""


def setup_folder() -> Path:
    """Name the folder in which setups lie, one per ABI."""
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
    """Say that a file or folder of ours cannot be written, and how another place is named."""
    return UsageError(
        f"cannot write {path} ({error.strerror or error})",
        f"make it writable, or name another folder in {FOLDER_VARIABLE}",
    )
