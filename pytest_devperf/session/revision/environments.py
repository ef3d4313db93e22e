"""Make an environment that shares today's packages, with the modules of a tree in place of the checkout's."""

from __future__ import annotations

import json
import os
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

from pytest_devperf.session.launch.interpreter import Environment
from pytest_devperf.session.launch.origin import SYS_PATH
from pytest_devperf.session.revision import redirect

SITES = frozenset({"site-packages", "dist-packages"})
"""Names of folders that packages are installed in."""

SCRIPT = """\
#!{python}
import sys
from {module} import {name}
sys.exit({attribute}())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one side imports."""

    top: Path
    """The user's checkout."""
    tree: Path
    """The tree that its modules come from; the checkout itself for today's code."""
    ignored: Sequence[str]
    """What git ignores in the checkout, relative to its top."""
    tests: Sequence[str]
    """Files with cases, relative to the top."""
    python_files: Sequence[str]
    """Patterns of test files."""
    built: Path | None = None
    """Modules that were built of the tree; they come before today's packages."""
    scripts: Sequence[EntryPoint] = ()
    """Programs that the projects of the checkout install."""


def make_environment(folder: Path, side: Side) -> Environment:
    """Make an environment in a folder.

    Both sides get one, so that both take equally long to start.
    """
    venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    packages = folder / "Lib" / "site-packages" if os.name == "nt" else next(folder.glob("lib/python*/site-packages"))
    instructions = {
        "top": os.path.realpath(side.top),
        "tree": os.path.realpath(side.tree),
        "ignored": list(side.ignored),
        "apart": [os.path.realpath(place) for place in (sys.prefix, sys.base_prefix)],
        "tests": list(side.tests),
        "python_files": list(side.python_files),
        "built": _modules_in(side.built) if side.built is not None else [],
        "first": [str(side.built)] if side.built is not None else [],
        "sites": [place for place in SYS_PATH if Path(place).name in SITES],
    }
    (packages / "_devperf_redirect.py").write_bytes(Path(redirect.__file__).read_bytes())
    (packages / "_devperf_redirect.json").write_text(json.dumps(instructions), encoding="ascii")
    (packages / "_devperf_redirect.pth").write_text("import _devperf_redirect\n", encoding="ascii")
    python = programs / ("python.exe" if os.name == "nt" else "python")
    for script in side.scripts:
        _write_script(programs, script, python)
    return Environment(program=str(python), own_path=True, programs=programs)


def _modules_in(folder: Path) -> list[str]:
    """Return the names of the top-level modules and packages in a folder."""
    names = [each.name for each in folder.iterdir() if not each.name.endswith((".dist-info", ".data"))]
    return sorted({name.partition(".")[0] for name in names} - {"bin", "__pycache__"})


def _write_script(programs: Path, script: EntryPoint, python: Path) -> None:
    """Write a program that runs the function of an entry point."""
    text = SCRIPT.format(python=python, module=script.module, name=script.attr.partition(".")[0], attribute=script.attr)
    file = programs / script.name
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    if os.name == "nt":
        file.with_name(f"{script.name}.cmd").write_text(f'@"{python}" "{file}" %*\n', encoding="utf-8")
