"""A canary: fixed work whose counts show whether two machines, interpreters and valgrinds count alike.

A list of versions does not show it: the C library chooses its copy loops by the processor, and builds of the same
interpreter differ. The canary runs in an interpreter of its own, where no plugin and no module of the tests is.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_devperf.count.valgrind import Valgrind, counting_variables
from pytest_devperf.errors import Unsupported
from pytest_devperf.targets.ask import ask_program
from pytest_devperf.untrusted import parse_json

CODE = """\
import sys
sys.path.insert(0, sys.argv[1])
from pytest_devperf.count.canary_work import main
main(sys.argv[2])
"""

TIMEOUT_S = 600.0
"""Longest run of the canary, which takes a second on an idle machine: a busy one may be a hundred times slower."""


def count_canary(valgrind: Valgrind) -> Mapping[str, int]:
    """Count the canary in an interpreter of its own.

    Returns:
        Instructions by the name of the work.

    Raises:
        Unsupported: This valgrind cannot run this interpreter.
    """
    package = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory(prefix="devperf-") as folder:
        # Without `site`: what is installed changes neither the imports nor the count.
        command = [*valgrind.counting(Path(folder)), sys.executable, "-S", "-c", CODE, str(package), folder]
        try:
            asked = ask_program(command, timeout_s=TIMEOUT_S, cwd=folder, env=counting_variables())
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unsupported(f"{valgrind.version} cannot run this interpreter: {error}") from None
    found = _parse_counts(asked.out)
    if asked.code or found is None:
        raise Unsupported(
            f"{valgrind.version} cannot run {sys.executable}: {asked.end}",
            "install a newer valgrind or another interpreter",
        )
    return found


def _parse_counts(text: str) -> Mapping[str, int] | None:
    try:
        found = parse_json(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or not all(isinstance(each, int) for each in found.values()):
        return None
    return found
