"""Compile the runner from its C source."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_devperf.errors import UsageError

SOURCES = Path(__file__).parent / "source"
"""The runner's C source, a part of this package."""

FLAGS = ("-std=c11", "-O2", "-Wall")
LIBRARIES = ("-ldl", "-lm")

ANDROID_FLAGS = ("-Wl,-z,max-page-size=16384",)
"""Phones with pages of 16 KiB only load libraries with this alignment; other phones load them, too.

Source: developer.android.com, "Support 16 KB page sizes".
"""

LEAST_API = 24
"""Android 7: the oldest version that current NDKs support, and the first with the shell protocol."""

TRIPLES = {
    "arm64-v8a": f"aarch64-linux-android{LEAST_API}",
    "armeabi-v7a": f"armv7a-linux-androideabi{LEAST_API}",
    "x86_64": f"x86_64-linux-android{LEAST_API}",
    "x86": f"i686-linux-android{LEAST_API}",
}
"""ABI -> prefix of the NDK's compiler (NDK guide "Use the NDK with other build systems")."""


def sources_sha256() -> str:
    """Hash the runner's source files, their names included, and its compiler flags."""
    digest = hashlib.sha256("\0".join((*FLAGS, *ANDROID_FLAGS, *LIBRARIES, "")).encode())
    for path in source_files():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def source_files() -> tuple[Path, ...]:
    """List the runner's sources and headers."""
    return tuple(sorted(path for path in SOURCES.iterdir() if path.suffix in {".c", ".h"}))


def find_compiler(ndk: Path | None, abi: str) -> Path:
    """Find the NDK's compiler for an ABI.

    Raises:
        UsageError: There is no NDK, or it has no such compiler.
    """
    root = ndk or _ndk_of_environment()
    if root is None:
        raise UsageError("no Android NDK was found", "pass --ndk PATH, or set ANDROID_NDK")
    name = TRIPLES[abi] + ("-clang.cmd" if sys.platform == "win32" else "-clang")
    found = sorted(root.glob(f"toolchains/llvm/prebuilt/*/bin/{name}"))
    if not found:
        raise UsageError(f"{root} contains no compiler {name}", "use NDK r23 or newer")
    return found[0]


def compile_runner(compiler: Path, to: Path, flags: Sequence[str] = ()) -> None:
    """Build the runner.

    Args:
        compiler: The compiler.
        to: The runner's file, in an existing folder.
        flags: Further flags.

    Raises:
        UsageError: The compiler failed; the error shows its last lines.
    """
    built = to.with_name(f".{to.name}.{os.getpid()}")  # another process may be building the same
    sources = [str(path) for path in source_files() if path.suffix == ".c"]
    done = subprocess.run(
        [str(compiler), *FLAGS, *flags, "-o", str(built), *sources, *LIBRARIES],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        built.unlink(missing_ok=True)
        raise UsageError(f"{compiler} could not build the runner", done.stderr.strip()[-500:] or "no message")
    built.replace(to)


def _ndk_of_environment() -> Path | None:
    for name in ("ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"):
        if os.environ.get(name):
            return Path(os.environ[name])
    for name in ("ANDROID_HOME", "ANDROID_SDK_ROOT"):
        versions = sorted(Path(os.environ[name], "ndk").glob("*")) if os.environ.get(name) else []
        if versions:
            return versions[-1]
    return None
