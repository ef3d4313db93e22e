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

PACKAGES = {
    "uplot@1.6.32": {
        "uPlot.iife.min.js": "dist/uPlot.iife.min.js",
        "uPlot.min.css": "dist/uPlot.min.css",
        "uPlot.LICENSE": "LICENSE",
    },
    "d3-flame-graph@5.0.0": {
        "d3-flamegraph.umd.min.js": "dist/d3-flamegraph.umd.min.js",
        "d3-flame-graph.LICENSE": "LICENSE",
    },
    "d3-array@3.2.5": {"d3-array.min.js": "dist/d3-array.min.js", "d3.LICENSE": "LICENSE"},
    "d3-color@3.1.1": {"d3-color.min.js": "dist/d3-color.min.js", "d3.LICENSE": "LICENSE"},
    "d3-dispatch@3.0.2": {"d3-dispatch.min.js": "dist/d3-dispatch.min.js", "d3.LICENSE": "LICENSE"},
    "d3-ease@3.0.2": {"d3-ease.min.js": "dist/d3-ease.min.js", "d3-ease.LICENSE": "LICENSE"},
    "d3-format@3.1.3": {"d3-format.min.js": "dist/d3-format.min.js", "d3.LICENSE": "LICENSE"},
    "d3-hierarchy@3.1.3": {"d3-hierarchy.min.js": "dist/d3-hierarchy.min.js", "d3.LICENSE": "LICENSE"},
    "d3-interpolate@3.0.2": {"d3-interpolate.min.js": "dist/d3-interpolate.min.js", "d3.LICENSE": "LICENSE"},
    "d3-scale@4.0.3": {"d3-scale.min.js": "dist/d3-scale.min.js", "d3.LICENSE": "LICENSE"},
    "d3-selection@3.0.1": {"d3-selection.min.js": "dist/d3-selection.min.js", "d3.LICENSE": "LICENSE"},
    "d3-timer@3.0.2": {"d3-timer.min.js": "dist/d3-timer.min.js", "d3.LICENSE": "LICENSE"},
    "d3-transition@3.0.2": {"d3-transition.min.js": "dist/d3-transition.min.js", "d3.LICENSE": "LICENSE"},
}
"""Package -> files here, and what they are called in it."""


def main() -> int:
    """Print one line per file; 1 if one is not what was published."""
    bad = 0
    for package, members in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as published:
                for name, member in members.items():
                    file = published.extractfile(f"package/{member}")
                    alike = file is not None and file.read() == (VENDORED / name).read_bytes()
                    bad += not alike
                    print(f"{name}: {'as in' if alike else 'NOT as in'} {package}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
