"""The files, placeholders and variables that every device passes to a program, and the values it reads back."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from pytest_devperf.case.workload import Command
from pytest_devperf.errors import CaseError
from pytest_devperf.tool.output import Output

SHARED = frozenset({"bin", "data", "dev", "etc", "mnt", "proc", "sdcard", "storage", "sys", "system", "vendor"})
"""Folders at the root of a phone: a path below one of them may be a file on the phone."""

OUTPUT = "{output}"
"""Placeholder for a file for the program's results, if it does not print them."""


def pushed_files(command: Command) -> dict[str, Path]:
    """List the pushed files: name in the command's folder -> file on this machine; of a folder, all its files.

    A file has its plain name there. A file that was given by a path below the test's folder, `sub/data.txt`, also
    has that path, so that a command may name it as on this machine.

    Raises:
        CaseError: A file is missing, or two have one name.
    """
    files: dict[str, Path] = {}
    plain: set[str] = set()
    for source in map(Path, command.push):
        if source.name in plain:
            raise _clash(source.name)
        plain.add(source.name)
        for name in dict.fromkeys((source.name, _path_below(command.folder, source))):
            for below, file in _files_at(source).items():
                path = f"{name}/{below}" if below else name
                if files.setdefault(path, file) != file:
                    raise _clash(path)
    for name in files:
        folders = (str(parent) for parent in PurePosixPath(name).parents)
        if any(folder in files for folder in folders):
            raise _clash(name.partition("/")[0])
    return files


def fill_placeholders(argument: str, *, iterations: int, warmup: int, output: str | None = None) -> str:
    """Fill in the numbers of iterations, and the file for results if there is one; leave other braces unchanged.

    >>> fill_placeholders("--runs={iterations},{x}", iterations=30, warmup=3, output="/tmp/o")
    '--runs=30,{x}'
    """
    words = {"{iterations}": str(iterations), "{warmup}": str(warmup), OUTPUT: output}
    for placeholder, word in words.items():
        if word is not None:
            argument = argument.replace(placeholder, word)
    return argument


def variables_of(*, iterations: int, warmup: int, process: int) -> dict[str, str]:
    """Return the environment variables that set the amount of work for a program."""
    return {
        "DEVPERF_ITERATIONS": str(iterations),
        "DEVPERF_WARMUP": str(warmup),
        "DEVPERF_PROCESS": str(process),
    }


def values_of(output: Output) -> dict[str, tuple[float, str, str]]:
    """Collect the values of an output, the load among them: name -> (value, unit, `lower` or `higher`)."""
    values: dict[str, tuple[float, str, str]] = {
        name: (value.value, value.unit, value.better) for name, value in output.values.items()
    }
    if output.load_ns is not None:
        values["load"] = (output.load_ns, "ns", "lower")
    return values


def pushed_name(command: Command) -> str | None:
    """Return the name of the pushed file that the command starts; None if it starts none."""
    name = Path(command.argv[0]).name
    return name if name in {Path(source).name for source in command.push} else None


def name_unpushed(command: Command) -> str:
    """Return the next step if an argument or variable names a file of this machine; empty if none does."""
    for word in (*command.argv[1:], *command.environment.values()):
        named = Path(word.rpartition("=")[2])
        if named.is_absolute() and named.parts[1:2] and named.parts[1] not in SHARED and named.is_file():
            pushed = "" if str(named) in command.push else "push it and "
            return f"{named} is a file of this machine: {pushed}name it {named.name}"
    return ""


def _files_at(source: Path) -> dict[str, Path]:
    """List a file as itself, and a folder as its files, each by its path below the source."""
    if source.is_dir():
        walked = os.walk(source, followlinks=True)
        found = (Path(folder, name) for folder, _, names in walked for name in names)
        return {path.relative_to(source).as_posix(): path for path in sorted(found) if path.is_file()}
    if source.is_file():
        return {"": source}
    raise CaseError(f"no file {source} to push", "the path is relative to the test file")


def _path_below(folder: str | None, source: Path) -> str:
    """Return a file's path below the test's folder, or its plain name if it is elsewhere."""
    if folder is None or ".." in source.parts or not source.is_relative_to(folder):
        return source.name
    return source.relative_to(folder).as_posix()


def _clash(name: str) -> CaseError:
    return CaseError(f"two pushed files are named {name}", "they share one folder: rename one")
