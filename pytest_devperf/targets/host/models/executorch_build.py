"""Compile one small file against ExecuTorch's C++ libraries, so that they can be called.

The `executorch` wheel contains headers and shared libraries of the runtime, its kernels and XNNPACK. Its Python
bindings need torch; these libraries do not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from pytest_devperf.errors import Unsupported
from pytest_devperf.targets.host.cache import cache_folder

SOURCE = Path(__file__).with_name("executorch_shim.cpp")

FLAGS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-w", "-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_USE_THREADPOOL")
"""Standard and definitions as in the CMake package of the wheel."""

LIBRARIES = (
    "executorch",
    "executorch_kernels_optimized",
    "executorch_kernels_quantized",
    "executorch_backend_xnnpack",
    "executorch_backend_coreml",
    "executorch_threadpool",
)
"""Parts of the runtime that register themselves when they are loaded; a wheel contains those of its platform."""

INSTALL = "pip install --no-deps executorch (1.5 or newer; torch is not needed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """The content of the installed wheel."""

    folder: Path
    version: str
    libraries: tuple[str, ...]


def find_wheel() -> Wheel:
    """Find ExecuTorch's libraries without importing the package.

    Raises:
        Unsupported: They are not installed.
    """
    spec = find_spec("executorch")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place)
        there = tuple(name for name in LIBRARIES if any((folder / "lib").glob(f"lib{name}.*")))
        if LIBRARIES[0] in there and (folder / "include" / "executorch").is_dir():
            return Wheel(folder=folder, version=_version(), libraries=there)
    if spec is None:
        raise Unsupported("a .pte program on the host needs ExecuTorch's libraries", INSTALL)
    raise Unsupported("the installed executorch contains no C++ runtime for this machine", INSTALL)


def build() -> Path:
    """Compile the shim against the wheel, once for each version of either, and return the library.

    Raises:
        Unsupported: There is no wheel or no compiler, or the compiler failed.
    """
    wheel = find_wheel()
    key = hashlib.sha256("\0".join([SOURCE.read_text(), wheel.version, str(wheel.folder), *FLAGS]).encode())
    library = cache_folder() / f"executorch-{key.hexdigest()[:16]}.so"
    if not library.is_file():
        _compile(wheel, library)
    return library


def _compile(wheel: Wheel, library: Path) -> None:
    compiler = next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)
    if compiler is None:
        raise Unsupported("a .pte program on the host needs a C++ compiler once", "install g++ or clang++")
    include = wheel.folder / "include"
    library.parent.mkdir(parents=True, exist_ok=True)
    made = library.with_name(f".{library.name}.{os.getpid()}")  # another process may be compiling the same
    words = [
        compiler,
        *FLAGS,
        f"-I{include}",
        f"-I{include / 'executorch' / 'runtime' / 'core' / 'portable_type' / 'c10'}",
        str(SOURCE),
        f"-L{wheel.folder / 'lib'}",
        f"-Wl,-rpath,{wheel.folder / 'lib'}",
        # Kernels and backends are never called by name: without this option, the linker drops them.
        *(() if sys.platform == "darwin" else ("-Wl,--no-as-needed",)),
        *(f"-l{name}" for name in wheel.libraries),
        "-o",
        str(made),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        made.unlink(missing_ok=True)
        last = (done.stderr.strip().splitlines() or ["no message"])[-1][:300]
        raise Unsupported(f"executorch {wheel.version} cannot be compiled here ({last})", INSTALL)
    made.replace(library)


def _version() -> str:
    try:
        return version("executorch")
    except PackageNotFoundError:
        return "of unknown version"
