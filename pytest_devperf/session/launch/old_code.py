"""Check in advance whether the interpreter of an environment with old code can take part."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.case.workload import Workload
from pytest_devperf.errors import UsageError
from pytest_devperf.session.launch.handover import HANDOVER_VERSION
from pytest_devperf.session.launch.interpreter import HERE, Environment
from pytest_devperf.session.launch.origin import ENVIRONMENT
from pytest_devperf.targets.ask import ask_program
from pytest_devperf.untrusted import parse_json

PROBE = """\
import json, sys
sys.path[:] = [place for place in sys.path if place]
found = {"python": ".".join(map(str, sys.version_info[:3]))}
try:
    import pytest
    found["pytest"] = pytest.__version__
    import pytest_devperf
    found["devperf"] = pytest_devperf.__version__
    from pytest_devperf.session.launch.handover import HANDOVER_VERSION
    found["handover"] = HANDOVER_VERSION
except ImportError as error:
    found["missing"] = str(error)
print(json.dumps(found))
"""

APART = "a src layout, --import-mode=importlib, or the pytest script instead of python -m pytest keeps them apart"
"""How two environments keep their modules apart."""

TIMEOUT_S = 60.0
"""Longest wait for an interpreter to import two packages: a cold network file system takes half of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldCode:
    """An environment that can take part."""

    environment: Environment
    words: str
    """Description for users."""
    beside: Environment = HERE
    """The environment of the new code."""
    remedy: str
    """Explanation or next step if both sides import the same module from the checkout."""

    def pushed(self, workload: Workload) -> tuple[Workload, Workload] | None:
        """Return both sides of a workload on a device that files are pushed to; None if only its Python is old.

        Raises:
            CaseError: A side lacks a file.
        """
        old, new = self.environment.relocation, self.beside.relocation
        return None if old is None else (old.pushed(workload), workload if new is None else new.pushed(workload))


def find_old_code(program: str, folder: Path) -> OldCode:
    """Check that an interpreter's environment can measure in turns with this one.

    Args:
        program: The interpreter, as the user named it.
        folder: What a relative path is relative to.

    Raises:
        UsageError: There is no such interpreter, or it lacks pytest or a compatible pytest-devperf.
    """
    option = f"--devperf-against={program}"
    path = Path(os.path.expanduser(program))  # noqa: PTH111 - a path may contain a ~
    path = path if path.is_absolute() else Path(folder, path)
    if path.is_dir():
        raise UsageError(f"{option} is a folder: pass the interpreter in it (.../bin/python)")
    if not path.is_file():
        raise UsageError(f"{option}: there is no such interpreter: pass the path of one (.../bin/python)")
    found = _ask(option, path)
    for name, words in (("pytest", "pytest"), ("devperf", "pytest-devperf"), ("handover", "pytest-devperf")):
        if name not in found:
            raise UsageError(
                f"{option} (Python {found['python']}) has no usable {words} ({found.get('missing')}): "
                f"{path} -m pip install {words}"
            )
    if found["handover"] != HANDOVER_VERSION:
        raise UsageError(
            f"{option} has pytest-devperf {found['devperf']} with handover version {found['handover']}, and this "
            f"environment has version {HANDOVER_VERSION}: install the same pytest-devperf in both environments"
        )
    words = f"Python {found['python']}, pytest {found['pytest']} ({program})"
    return OldCode(environment=Environment(program=str(path), own_path=True), words=words, remedy=APART)


def _ask(option: str, path: Path) -> dict[str, str | int]:
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONHOME"}
    try:
        with tempfile.TemporaryDirectory(prefix="devperf-") as folder:
            asked = ask_program([str(path), "-c", PROBE], timeout_s=TIMEOUT_S, cwd=folder, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{option} does not run: {error}") from None
    found = parse_probe(asked.out)
    if found is None:
        raise UsageError(f"{option} is not a working Python interpreter: {asked.end}")
    return found


def parse_probe(text: str) -> dict[str, str | int] | None:
    r"""Parse the last line of the output of `PROBE`; None if it is something else.

    >>> parse_probe('a warning\n{"python": "3.12.1", "handover": 2}\n')
    {'python': '3.12.1', 'handover': 2}
    """
    try:
        found = parse_json(text.strip().rpartition("\n")[2])
    except ValueError:
        return None
    if not isinstance(found, dict) or "python" not in found:
        return None
    return {name: value for name, value in found.items() if isinstance(value, (str, int))}
