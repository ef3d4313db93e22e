"""The native tools that run models in other formats on a phone, and their files on this machine.

The user provides each tool once (`devperf setup-android`); it is stored beside the ONNX runner, one per ABI.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.model_file.content import model_sha256
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.work_folder import LIBRARY_PATH, work_folder
from pytest_devperf.targets.android.runner.setup import elf_abi
from pytest_devperf.targets.android.setup_folder import setup_folder, unwritable
from pytest_devperf.tool.flags import parse_flags

TOOLS: Mapping[str, str] = {".tflite": "benchmark_model", ".pte": "executor_runner"}
"""Suffix of a model file -> the tool of its project."""

PROJECTS: Mapping[str, str] = {"benchmark_model": "LiteRT", "executor_runner": "ExecuTorch"}

SIMULATED = "sim"
"""Folder of tools for the simulated phone, which runs this machine's code."""

ANDROID_LOADER = b"/system/bin/linker"
"""Loader in an executable for Android; one for Linux names `/lib…/ld-linux…`."""

HEAD_BYTES = 4096
"""Beginning of an ELF file that surely contains the loader's name: linkers put it right behind the headers."""

HASH_DIGITS = 12
"""Hex digits that distinguish builds of a tool: the tools print no version."""

CANNOT_RUN, SIGNALLED = (126, 127), 128
"""A shell's exit codes for a program that could not start, and the number it adds to a fatal signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A native tool that is set up."""

    name: str
    path: Path
    flags: frozenset[str]
    """Its options; empty if its help could not be read."""
    sdk: str
    """Name and hash: its version, as it prints none."""


def option_of(name: str) -> str:
    """Return the option of `devperf setup-android` for a tool.

    >>> option_of("benchmark_model")
    '--benchmark-model'
    """
    return "--" + name.replace("_", "-")


def find_tool(name: str, abi: str, *, simulated: bool) -> Path:
    """Find a stored tool.

    Args:
        name: The tool.
        abi: The phone's ABI, with Android's name.
        simulated: Whether the phone is the simulated one.

    Raises:
        Unsupported: It is not set up.
    """
    path = setup_folder() / (SIMULATED if simulated else abi) / name
    if path.is_file():
        return path
    kind = "the simulated phone" if simulated else f"{abi} phones"
    suffix = next(each for each, tool in TOOLS.items() if tool == name)
    raise Unsupported(
        f"a {suffix} model on a phone needs {PROJECTS[name]}'s {name}, and none is set up for {kind}",
        f"run `devperf setup-android {option_of(name)} FILE`",
    )


def has_tools(abi: str, *, simulated: bool) -> bool:
    """Check whether any tool is stored for a phone."""
    folder = setup_folder() / (SIMULATED if simulated else abi)
    return any((folder / name).is_file() for name in TOOLS.values())


def store_tool(name: str, file: Path) -> Path:
    """Store a tool for the phones it is built for; an executable for this machine serves the simulated phone.

    Returns:
        The path of the stored tool.

    Raises:
        UsageError: The file is not an executable for a phone.
    """
    abi = elf_abi(file, what=f"an executable {name}")
    with file.open("rb") as opened:
        head = opened.read(HEAD_BYTES)
    linux = ANDROID_LOADER not in head and b"/ld-" in head
    folder = setup_folder() / (SIMULATED if linux else abi)
    kept = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept)
    except OSError as error:
        raise unwritable(kept, error) from error
    return kept


def ask_tool(name: str, path: Path, link: Link) -> Tool:
    """Ask a tool on the phone for its options.

    Raises:
        CaseError: It cannot run on the phone.
        TargetError: The phone is gone.
    """
    with work_folder(link, {name: path}) as folder:
        command = f"cd {folder.path} && {LIBRARY_PATH} ./{name} --help=true 2>&1"
        done = link.script(command, doing=f"reading the options of {name}")
    if done.returncode in CANNOT_RUN or done.returncode > SIGNALLED:
        words = (done.error_output or done.output).strip()[-300:]
        raise CaseError(f"{name} cannot run on {link.name} ({words})", "set up one that is built for its ABI")
    return Tool(
        name=name, path=path, flags=parse_flags(done.output), sdk=f"{name} {model_sha256(str(path))[:HASH_DIGITS]}"
    )
