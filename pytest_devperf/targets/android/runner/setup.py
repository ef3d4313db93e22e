"""The runner and the runtime library for phones: their files on this machine, and how they are created once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.errors import Unsupported, UsageError
from pytest_devperf.model_file.content import flaw_of
from pytest_devperf.targets.android.runner.build import (
    ANDROID_FLAGS,
    TRIPLES,
    compile_runner,
    find_compiler,
    sources_sha256,
)
from pytest_devperf.targets.android.setup_folder import setup_folder, unwritable
from pytest_devperf.untrusted import parse_json

RUNNER = "devperf-runner"
LIBRARY = "libonnxruntime.so"
FACTS = "setup.json"

MACHINES = {183: "arm64-v8a", 40: "armeabi-v7a", 62: "x86_64", 3: "x86"}
"""`e_machine` of an ELF header -> Android's name of the ABI (ELF specification; NDK guide "Android ABIs")."""

COMMAND = "devperf setup-android --library libonnxruntime.so"
"""The next step if nothing is set up."""

MOST_LIBRARY_BYTES = 1 << 30
"""Largest library that is unpacked: ONNX Runtime for Android has 20 to 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The files that run models on a phone."""

    runner: Path
    library: Path


def find_setup(abi: str, *, runner: Path | None = None, library: Path | None = None) -> Setup:
    """Find runner and library for an ABI.

    Args:
        abi: Android's name of the ABI.
        runner: Runner to use instead of the stored one.
        library: Library to use instead of the stored one.

    Raises:
        Unsupported: Nothing is stored for this ABI, or the runner is of another version of devperf.
    """
    folder = setup_folder() / abi
    found = Setup(runner=runner or folder / RUNNER, library=library or folder / LIBRARY)
    for path in (found.runner, found.library):
        if not path.is_file():
            raise Unsupported(f"no ONNX runner is set up for {abi} phones ({path} is missing)", f"run `{COMMAND}`")
    if runner is None and _facts(folder).get("sources") != sources_sha256():
        raise Unsupported(f"the ONNX runner for {abi} was made by another version of devperf", f"run `{COMMAND}` again")
    return found


# -- phones ----------------------------------------------------------------------------------------


def set_up_android(
    *, library: Path | None = None, aar: Path | None = None, ndk: Path | None = None, runner: Path | None = None
) -> Mapping[str, Setup]:
    """Store runner and library for one or more ABIs.

    Args:
        library: A `libonnxruntime.so` for Android; its ABI is read from the file.
        aar: Instead, an onnxruntime-android archive, which contains a library for each ABI.
        ndk: Folder of the Android NDK; None: as the environment names it.
        runner: A runner that was built elsewhere (for a release); then no NDK is needed.

    Returns:
        Setups by ABI.

    Raises:
        UsageError: A file is not what it should be, there is no NDK, or the build failed.
    """
    with tempfile.TemporaryDirectory(prefix="devperf-") as scratch:
        libraries = _from_aar(aar, Path(scratch)) if aar is not None else _from_file(library)
        if runner is not None:
            libraries = {abi: path for abi, path in libraries.items() if abi == elf_abi(runner)}
            if not libraries:
                raise UsageError(f"{runner} is a runner for {elf_abi(runner)}", "pass the library for the same ABI")
        return {abi: _store(abi, path, ndk=ndk, runner=runner) for abi, path in libraries.items()}


def elf_abi(path: Path, *, what: str = "a shared library") -> str:
    """Read an ELF file's ABI, with Android's name.

    Args:
        path: The file.
        what: Description of the expected file.

    Raises:
        UsageError: It is not an ELF file, or for a processor that Android does not support.
    """
    _check_file(path)
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":  # noqa: PLR2004 - up to the end of e_machine
        raise UsageError(f"{path} is not {what} for Android or Linux", "pass the file that was built for the phone")
    machine = struct.unpack("<H" if head[5] == 1 else ">H", head[18:20])[0]
    if machine not in MACHINES:
        raise UsageError(f"{path} is for a processor that Android does not run on (ELF machine {machine})")
    return MACHINES[machine]


# -- the simulated phone ---------------------------------------------------------------------------


def set_up_simulated() -> Setup:
    """Build the runner for the simulated phone, which runs this machine's code, and find the wheel's library.

    Raises:
        Unsupported: There is no compiler, or no onnxruntime.
    """
    library = _wheel_library()
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise Unsupported(
            "a model on the simulated phone needs a C compiler on this machine", "install gcc or clang, or use a phone"
        )
    folder = setup_folder() / "sim"
    runner = folder / f"{RUNNER}-{sources_sha256()[:12]}"
    if not runner.is_file():
        _made(folder)
        try:
            compile_runner(Path(compiler), runner)
        except UsageError as error:
            raise Unsupported(error.what, error.next_step) from error
    return Setup(runner=runner, library=library)


def _wheel_library() -> Path:
    from importlib.util import find_spec

    spec = find_spec("onnxruntime")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        for path in sorted(Path(folder, "capi").glob("libonnxruntime.*")):
            if ".so" in path.name or path.suffix == ".dylib":
                return path
    raise Unsupported(
        "a model on the simulated phone needs ONNX Runtime on this machine", "pip install 'pytest-devperf[onnx]'"
    )


# -- below -----------------------------------------------------------------------------------------


def _from_file(library: Path | None) -> dict[str, Path]:
    if library is None:
        raise UsageError("no runtime was given", "pass --library libonnxruntime.so or --aar onnxruntime-android.aar")
    return {elf_abi(library): library}


def _from_aar(aar: Path, scratch: Path) -> dict[str, Path]:
    """Extract the libraries from an archive; only expected names are read."""
    _check_file(aar)
    found = {}
    try:
        with zipfile.ZipFile(aar) as archive:
            there = {entry.filename: entry for entry in archive.infolist()}
            for abi in TRIPLES:
                entry = there.get(f"jni/{abi}/{LIBRARY}")
                if entry is not None:
                    found[abi] = _extract(archive, entry, scratch / f"{abi}.so")
    except UsageError:
        raise
    except Exception as error:
        # zipfile raises a dozen kinds of errors for damaged archives.
        raise UsageError(f"cannot read {aar}: {error}", "pass an onnxruntime-android archive") from error
    if not found:
        raise UsageError(f"{aar} contains no jni/ABI/{LIBRARY}", "pass an onnxruntime-android archive")
    return found


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, to: Path) -> Path:
    """Extract a library block by block: a few bytes of an archive can expand to more than this machine has."""
    if entry.file_size > MOST_LIBRARY_BYTES:
        raise UsageError(
            f"{entry.filename} would take {entry.file_size / (1 << 30):.1f} GiB", "pass an onnxruntime-android archive"
        )
    with archive.open(entry) as packed, to.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return to


def _check_file(path: Path) -> None:
    flaw = flaw_of(path)
    if flaw is not None:
        raise UsageError(f"{path} {flaw[0]}", flaw[1])


def _store(abi: str, library: Path, *, ndk: Path | None, runner: Path | None) -> Setup:
    folder = _made(setup_folder() / abi)
    setup = Setup(runner=folder / RUNNER, library=folder / LIBRARY)
    if runner is None:
        compile_runner(find_compiler(ndk, abi), setup.runner, ANDROID_FLAGS)
    facts = {"sources": sources_sha256(), "library": library.name, "built": runner is None}
    try:
        if runner is not None:
            shutil.copyfile(runner, setup.runner)
        shutil.copyfile(library, setup.library)
        (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return setup


def _made(folder: Path) -> Path:
    """Create a folder of the store, and check that it is writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    if not os.access(folder, os.W_OK):
        raise unwritable(folder, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    return folder


def _facts(folder: Path) -> Mapping[str, object]:
    try:
        facts = parse_json((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
