"""Find the folders that differ between machines and runs, for the hash of a workload."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path


def prefixes_of(root: Path, folder: Path, basetemp: str | None) -> Mapping[str, str]:
    """Return the folders that differ between machines and runs, with their placeholders in a workload's hash.

    Args:
        root: The root folder of the tests.
        folder: The working directory.
        basetemp: The folder of temporary files, if one was named.
    """
    prefixes = {
        sys.prefix: "<interpreter>",
        str(root): "<rootdir>",
        str(folder): "<cwd>",
        tempfile.gettempdir(): "<tmp>",
        str(Path.home()): "<home>",
    }
    return {**prefixes, os.path.abspath(basetemp): "<tmp>"} if basetemp else prefixes  # noqa: PTH100 - a text is compared
