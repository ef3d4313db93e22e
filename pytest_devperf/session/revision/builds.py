"""Find the projects of a checkout that have to be built, and build them without touching any environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import Distribution, EntryPoint, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytest_devperf.errors import UsageError
from pytest_devperf.session.launch.origin import ENVIRONMENT
from pytest_devperf.untrusted import excerpt, parse_json, printable

PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project of the checkout that is installed in this environment, or compiled in place."""

    name: str
    place: str
    """Its folder, relative to the top of the checkout."""
    must_be_built: bool
    """Whether it has compiled modules, or a copy of it is installed."""
    copied: bool = False
    """Whether a copy of it is installed, which nothing but a build can take the place of."""
    scripts: Sequence[EntryPoint] = field(default=())
    """The programs that it installs."""


def find_projects(top: Path, root: Path, untracked: Sequence[str]) -> list[Project]:
    """Find the projects of a checkout that this environment uses.

    Args:
        top: The top of the checkout.
        root: The root folder of the tests.
        untracked: Files and folders that git does not track, relative to the top.

    Raises:
        UsageError: A compiled module belongs to none.
    """
    compiled = [file for file in untracked if file.endswith(tuple(EXTENSION_SUFFIXES))]
    found: dict[str, Project] = {}
    folders = {canonicalize_name(name): folder for folder in project_folders(root, top) if (name := name_of(folder))}
    for each in distributions():
        folder = _source(each) or folders.get(canonicalize_name(each.metadata["Name"] or ""))
        place = None if folder is None else _place(folder, top)
        if place is not None and place not in found and each.metadata["Name"] != "pytest-devperf":
            copied = not _is_editable(each)
            must = copied or _is_compiled(each) or any(_is_below(file, place) for file in compiled)
            scripts = [point for point in each.entry_points if point.group == "console_scripts"]
            name = each.metadata["Name"]
            found[place] = Project(name=name, place=place, must_be_built=must, copied=copied, scripts=scripts)
    for file in compiled:
        if not any(_is_below(file, place) for place in found):
            # Not installed: compiled in place, and found by a folder on the path.
            project = _project_of(top, file)
            found[project.place] = project
    return list(found.values())


def build(project: Path, modules: Path, words: str) -> None:
    """Build a project and put what it installs into a folder.

    Raises:
        UsageError: It cannot be built, or there is neither pip nor uv.
    """
    if not project.is_dir():
        return  # the revision does not have it yet
    done = subprocess.run(
        [*_installer(words), "--no-deps", "--target", str(modules), *_isolation(project), str(project)],
        env={**ENVIRONMENT, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        log = modules.with_suffix(".log")
        log.write_bytes(done.stdout)
        lines = [line for line in done.stdout.decode(errors="replace").splitlines() if "rror" in line]
        shown = excerpt(printable(lines[-1].strip())) if lines else f"exit code {done.returncode}"
        raise UsageError(f"{words} cannot be built ({shown})", f"the whole output is in {log}")


def _installer(words: str) -> list[str]:
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--no-warn-script-location"]
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError(f"{words} has to be built, and this environment has no pip", "python -m ensurepip")
    return [uv, "pip", "install", "--python", sys.executable]


def _isolation(project: Path) -> list[str]:
    """Build with the packages of this environment if it has all that the build needs."""
    return ["--no-build-isolation"] if all(map(_is_installed, _build_requirements(project))) else []


def _build_requirements(project: Path) -> list[str]:
    table = _read_toml(project).get("build-system")
    wanted = table.get("requires") if isinstance(table, dict) else None
    return list(map(str, wanted)) if isinstance(wanted, list) else ["setuptools"]


def _is_installed(requirement: str) -> bool:
    try:
        wanted = Requirement(requirement)
    except InvalidRequirement:
        return False
    if wanted.marker is not None and not wanted.marker.evaluate():
        return True
    return any(wanted.specifier.contains(each.version, prereleases=True) for each in distributions(name=wanted.name))


def _place(folder: Path, top: Path) -> str | None:
    """Return a folder relative to the top of the checkout; None if it is not in there."""
    real = os.path.realpath(folder)
    if real != str(top) and not real.startswith(str(top) + os.sep):
        return None
    return os.path.relpath(real, top).replace(os.sep, "/")


def _source(distribution: Distribution) -> Path | None:
    """Return the folder that a distribution was installed from, as pip wrote it down.

    Source: "Recording the Direct URL Origin of installed distributions", packaging.python.org.
    """
    url = _direct_url(distribution).get("url")
    if not isinstance(url, str) or not url.startswith("file:"):
        return None
    return Path(url2pathname(unquote(urlsplit(url).path)))


def _direct_url(distribution: Distribution) -> dict[str, object]:
    try:
        table = parse_json(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return table if isinstance(table, dict) else {}


def _is_editable(distribution: Distribution) -> bool:
    table = _direct_url(distribution).get("dir_info")
    # `setup.py develop` leaves the metadata in the checkout, without a list of files.
    return (isinstance(table, dict) and table.get("editable") is True) or distribution.read_text("RECORD") is None


def _is_compiled(distribution: Distribution) -> bool:
    wheel = distribution.read_text("WHEEL") or ""
    if "Root-Is-Purelib: false" in wheel:
        return True
    return any(str(file).endswith(tuple(EXTENSION_SUFFIXES)) for file in distribution.files or ())


def project_folders(folder: Path, top: Path) -> Iterator[Path]:
    """Return the folders with a project, from a folder up to the top."""
    for each in (folder, *folder.parents):
        if any((each / name).is_file() for name in PROJECT_FILES):
            yield each
        if each == top:
            return


def _project_of(top: Path, file: str) -> Project:
    folder = next(project_folders((top / file).parent, top), None)
    if folder is None:
        raise UsageError(
            f"{file} is compiled and belongs to no project that could be built from the revision",
            f"add one of {', '.join(PROJECT_FILES)}, or pass the interpreter of an environment with the old code",
        )
    place = os.path.relpath(folder, top).replace(os.sep, "/")
    return Project(name=name_of(folder) or folder.name, place=place, must_be_built=True)


def name_of(folder: Path) -> str | None:
    """Return the name of a project as `pyproject.toml` has it."""
    project = _read_toml(folder).get("project")
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) else None


def _read_toml(folder: Path) -> dict[str, Any]:
    """Read the `pyproject.toml` of a folder; empty if it has none that can be read."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # pytest needs it there

    try:
        table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table


def _is_below(file: str, place: str) -> bool:
    return place == "." or file.startswith(place + "/")
