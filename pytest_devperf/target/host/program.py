"""The files of a program of this machine: where they lie, and what is filled into its arguments."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError

OUTPUT = "{output}"
"""Placeholder for a file that the program writes its results to, where it prints them nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a program runs and which file it is."""

    program: str
    """Absolute path."""
    cwd: str
    name: str
    """What a user calls it."""
    scratch: str
    """Absolute path of a folder for its results."""


def filled(argument: str, *, iterations: int, warmup: int, output: str) -> str:
    """Fill in how much to do, and the file that results go to; other braces are the program's own.

    >>> filled("--runs={iterations},{x}", iterations=30, warmup=3, output="/tmp/o")
    '--runs=30,{x}'
    """
    words = {"{iterations}": str(iterations), "{warmup}": str(warmup), OUTPUT: output}
    for placeholder, word in words.items():
        argument = argument.replace(placeholder, word)
    return argument


def lay_out(command: Command, folder: Path, scratch: Path) -> Place:
    """Copy pushed files into a private folder and find the program.

    Copies, not links: a program may write to the files it is given.

    Raises:
        CaseError: A file or the program is missing.
    """
    if not command.argv:
        raise CaseError("devperf.command was given no program", "pass a list: program, then arguments")
    for source in map(Path, command.push):
        if (folder / source.name).exists():
            raise CaseError(f"two pushed files are named {source.name}", "they lie in one folder: rename one")
        if source.is_dir():
            shutil.copytree(source, folder / source.name)
        elif source.is_file():
            shutil.copy2(source, folder / source.name)
        else:
            raise CaseError(f"no file {source} to push", "the path is relative to the test file")
    here = folder if command.push else Path.cwd()
    cwd = here if command.cwd is None else Path(command.cwd)
    if not cwd.is_dir():
        raise CaseError(f"no folder {cwd} to run in", "check cwd=")
    program = _program(command, folder, cwd)
    return Place(program=str(program), cwd=str(cwd), name=Path(command.argv[0]).name, scratch=str(scratch))


def _program(command: Command, folder: Path, cwd: Path) -> Path:
    named = Path(command.argv[0])
    pushed = folder / named.name
    if named.name in {Path(source).name for source in command.push} and pushed.is_file():
        pushed.chmod(pushed.stat().st_mode | 0o755)
        return pushed
    if not any(mark in command.argv[0] for mark in (os.sep, os.altsep) if mark):
        found = shutil.which(command.argv[0], path=command.environment.get("PATH"))
        if found is None:
            raise CaseError(f"no program {named} on PATH", "install it, or push it and name it ./…")
        return Path(found)
    program = cwd / named
    if not program.is_file():
        raise CaseError(f"no program {named} in {cwd}", "push it, or pass its whole path")
    if not os.access(program, os.X_OK):
        raise CaseError(f"{program} may not be executed", f"chmod +x {program}")
    return program.absolute()
