"""The files of a program on this machine, copied into a private folder."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.targets.program import pushed_files, pushed_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFiles:
    """The program file, and the folders it uses."""

    program: str
    """Absolute path."""
    cwd: str
    name: str
    """Name for users."""
    scratch: str
    """Absolute path of a folder for the program's results."""


def lay_out(command: Command, folder: Path, scratch: Path) -> ProgramFiles:
    """Copy pushed files into a private folder and find the program.

    Copy, because a program may write to its files.

    Raises:
        CaseError: A file or the program is missing.
    """
    if not command.argv:
        raise CaseError("devperf.command needs a program", "pass a list: program, then arguments")
    copies: dict[Path, Path] = {}
    for name, source in pushed_files(command).items():
        where = folder / name
        where.parent.mkdir(parents=True, exist_ok=True)
        if source in copies:
            where.hardlink_to(copies[source])  # a second name of the same file, which may be large
        else:
            copies[source] = where
            shutil.copy2(source, where)
    # Without a test, the caller wrote the command: run it beside its files, or else in the caller's folder.
    here = Path(command.folder) if command.folder is not None else folder if command.push else Path.cwd()
    cwd = here / (command.cwd or "")
    if not cwd.is_dir():
        raise CaseError(f"no folder {cwd} to run in", "check cwd=")
    program = _program(command, folder, cwd)
    return ProgramFiles(program=str(program), cwd=str(cwd), name=Path(command.argv[0]).name, scratch=str(scratch))


def _program(command: Command, folder: Path, cwd: Path) -> Path:
    named = Path(command.argv[0])
    name = pushed_name(command)
    if name is not None and (pushed := folder / name).is_file():
        pushed.chmod(pushed.stat().st_mode | 0o755)
        return pushed
    if not any(mark in command.argv[0] for mark in (os.sep, os.altsep) if mark):
        found = shutil.which(command.argv[0], path=command.environment.get("PATH"))
        if found is None:
            raise CaseError(f"no program {named} on PATH", "install it, or push it and name it ./...")
        return Path(found)
    program = cwd / named
    if not program.is_file():
        raise CaseError(f"no program {named} in {cwd}", "push it, or pass its full path")
    if not os.access(program, os.X_OK):
        raise CaseError(f"{program} is not executable", f"chmod +x {program}")
    return program.absolute()
