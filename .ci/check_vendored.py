"""Compare the files that are bundled from npm with the packages that npm serves.

Needs npm and a registry. The test `test_report_vendored.py` compares the same files with the hashes in `README.md`
beside them, without either.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDORED = Path(__file__).parents[1] / "pytest_devperf" / "report" / "html" / "vendor"

PACKAGE = "uplot@1.6.32"

MEMBERS = {
    "uPlot.iife.min.js": "package/dist/uPlot.iife.min.js",
    "uPlot.min.css": "package/dist/uPlot.min.css",
    "uPlot.LICENSE": "package/LICENSE",
}
"""Files here, and what they are called in the package."""


def main() -> int:
    """Print one line per file; 1 if one is not what was published."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            published = {name: package.extractfile(member) for name, member in MEMBERS.items()}
            same = {
                name: file is not None and file.read() == (VENDORED / name).read_bytes()
                for name, file in published.items()
            }
    for name, alike in same.items():
        print(f"{name}: {'as in' if alike else 'NOT as in'} {PACKAGE}")
    return 0 if all(same.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
