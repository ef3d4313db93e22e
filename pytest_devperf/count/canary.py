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
from pytest_devperf.untrusted import excerpt, parse_json, printable

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
            asked = subprocess.run(
                command,
                cwd=folder,
                env=dict(counting_variables()),
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unsupported(f"{valgrind.version} cannot run this interpreter: {error}") from None
    found = _parse_counts(asked.stdout)
    if asked.returncode or found is None:
        lines = (asked.stderr or asked.stdout).strip().splitlines()
        last = excerpt(printable(lines[-1])) if lines else f"exit code {asked.returncode}, no output"
        raise Unsupported(
            f"{valgrind.version} cannot run {sys.executable}: {last}", "install a newer valgrind or another interpreter"
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
