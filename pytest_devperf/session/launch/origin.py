"""The state in which this process was started, copied before anything could change it.

Fresh interpreters start with it: pytest and conftests add folders to `sys.path` and variables to the environment, and a
second start must not inherit what the first one added.
"""

from __future__ import annotations

import os
import sys

HANDOVER_VARIABLE = "PYTEST_DEVPERF_HANDOVER"
"""Environment variable with the path of a fresh interpreter's instructions."""

PROCESS_VARIABLE = "PYTEST_DEVPERF_PROCESS"
"""Zero-based index of the process start; unset in start 1. Users may read it."""

SYS_PATH = tuple(sys.path)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != HANDOVER_VARIABLE}

HANDOVER = os.environ.pop(HANDOVER_VARIABLE, None)
"""The handover file; its variable is removed at once, since a pytest that a test starts is not this interpreter."""
