"""Build the sdist and the wheel twice and check them: equal bytes, all tracked files, nothing else.

Leaves both in dist/ and their hashes in SHA256SUMS, for `sha256sum --check`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]

PACKAGE = "pytest_devperf/"


def main() -> int:
    """Return 1 and name the faults if there are any, else write dist/ and SHA256SUMS."""
    tracked = set(run_git("ls-files").splitlines())
    with tempfile.TemporaryDirectory() as name:
        first, second = (build(Path(name, which), umask) for which, umask in (("first", 0o022), ("second", 0o077)))
        faults = [f"{file}: two builds differ" for file in first if first[file] != second.get(file)]
        faults += compare_sdist(next(Path(name, "first").glob("*.tar.gz")), tracked)
        faults += compare_wheel(next(Path(name, "first").glob("*.whl")), tracked)
        if not faults:
            shutil.rmtree(ROOT / "dist", ignore_errors=True)
            shutil.copytree(Path(name, "first"), ROOT / "dist")
            sums = "".join(f"{digest}  dist/{file}\n" for file, digest in sorted(first.items()))
            (ROOT / "SHA256SUMS").write_text(sums, encoding="utf-8", newline="\n")
            sys.stdout.write(sums)
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


def run_git(*words: str) -> str:
    """Return what a git command prints."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def build(folder: Path, umask: int) -> dict[str, str]:
    """Build the sdist, and the wheel from what it unpacks to, under a umask; return the hashes by file name."""
    before = os.umask(umask)
    try:
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
            env={**os.environ, "SOURCE_DATE_EPOCH": run_git("log", "-1", "--format=%ct").strip()},
            check=True,
            stdout=subprocess.DEVNULL,
        )
    finally:
        os.umask(before)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def compare_sdist(path: Path, tracked: set[str]) -> list[str]:
    """Name tracked files that the sdist lacks, and files in it that are not tracked."""
    with tarfile.open(path) as sdist:
        inside = {str(PurePosixPath(*PurePosixPath(each.name).parts[1:])) for each in sdist if each.isfile()}
    lacking = [f"{path.name} lacks {name}" for name in sorted(tracked - inside)]
    return lacking + [
        f"{path.name} contains {name}, which git does not track: add it to git or to .gitignore"
        for name in sorted(inside - tracked - {"PKG-INFO"})
    ]


def compare_wheel(path: Path, tracked: set[str]) -> list[str]:
    """Name differences between the package in the wheel and the tracked one."""
    with zipfile.ZipFile(path) as wheel:
        inside = {name for name in wheel.namelist() if not name.partition("/")[0].endswith(".dist-info")}
    package = {name for name in tracked if name.startswith(PACKAGE)}
    return [f"{path.name} lacks {name}" for name in sorted(package - inside)] + [
        f"{path.name} contains {name}, which is no tracked file of the package" for name in sorted(inside - package)
    ]


if __name__ == "__main__":
    sys.exit(main())
