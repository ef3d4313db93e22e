"""Execute an ONNX model in a session that times each node."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_devperf.targets.host.models.runtime import LoadedModel


def trace_session(
    options: Any,  # noqa: ANN401 - SessionOptions, which ship no types
    load: Callable[[Any], Any],
    bind: Callable[[Any], LoadedModel],
    executions: int,
) -> str:
    """Execute a model and return the trace of its session, whose file is removed.

    Args:
        options: The options of the session.
        load: Makes a session with options.
        bind: Passes the inputs.
        executions: How often it is executed.
    """
    with tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True) as folder:
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder, "trace"))
        session = load(options)
        loaded = bind(session)
        for _ in range(executions):
            loaded.function(*loaded.args)
        return Path(session.end_profiling()).read_text(encoding="utf-8")
