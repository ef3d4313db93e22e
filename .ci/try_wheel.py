"""Install the built wheel alone, and save and compare with it what a user's first suite would measure.

What phones and models need is optional: nothing of it may be needed, nor installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

OPTIONAL = ("numpy", "adbutils", "onnxruntime", "fsspec")

TEST = "def test_sum(devperf):\n    assert devperf(sum, range(100)) == 4950\n"

SHORT = ("--devperf-processes=2", "--devperf-rounds=4", "--devperf-accept=contended,busy-host")


def main() -> None:
    """Fail if a command fails, or if an optional package was installed."""
    (wheel,) = Path("dist").glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.EnvBuilder(with_pip=True).create(folder / "venv")
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = str(programs / "python")
        run(python, "-m", "pip", "install", "-q", str(wheel.resolve()))
        found = f"from importlib.util import find_spec; print(*filter(find_spec, {OPTIONAL!r}))"
        installed = subprocess.run([python, "-c", found], capture_output=True, text=True, check=True).stdout.split()
        if installed:
            sys.exit(f"the wheel alone installs {', '.join(installed)}")
        (folder / "test_sum.py").write_text(TEST)
        run(python, "-m", "pytest", "-q", "--devperf-save=base", *SHORT, cwd=folder)
        # A tolerance that a busy machine stays within: what is tried is that two runs can be compared at all.
        run(python, "-m", "pytest", "-q", "--devperf-compare=base", "--devperf-tolerance=1000%", *SHORT, cwd=folder)
        run(str(programs / "devperf"), "list", cwd=folder)


def run(*words: str, cwd: Path | None = None) -> None:
    """Run a command; end with its code if it fails."""
    code = subprocess.run(words, cwd=cwd, check=False).returncode
    if code:
        sys.exit(f"{' '.join(words[:4])} ended with {code}")


if __name__ == "__main__":
    main()
