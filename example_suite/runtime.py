"""Opens a model the way the pipelines of this suite do."""

from __future__ import annotations

from pathlib import Path

import onnxruntime


def session(path: Path | str) -> onnxruntime.InferenceSession:
    """Open a model with one thread: beside a pipeline's own work its waiting threads would only be in the way."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
