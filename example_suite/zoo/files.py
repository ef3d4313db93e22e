"""Where the models' files are: written into a cache by their content, or inside an installed package."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from pathlib import Path

import pytest

from example_suite.zoo import language, reading, vision

BUILDERS = {
    builder.__name__: builder
    for builder in (
        vision.segmenter,
        vision.stylist,
        vision.detector,
        vision.keypointer,
        vision.embedder,
        reading.reader,
        language.text_encoder,
        language.acoustic,
    )
}
"""Models built here, by name."""


def built(name: str, folder: Path) -> Path:
    """Build a model and give its file, named by its content, so that another version is another file."""
    pytest.importorskip("onnx", reason="building the example models needs the package onnx")
    data = BUILDERS[name]().SerializeToString(deterministic=True)
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}.onnx"
    if not path.exists():
        # Written beside and moved into place: another process may be doing the same.
        descriptor, beside = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(beside).replace(path)
    return path


def packaged(package: str, *parts: str) -> Path:
    """Find a file of an installed package without importing it; skip the test where there is none."""
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or ()) if found else ():
        # A part may be a pattern: packages number their models' folders.
        for path in sorted(Path(folder).glob("/".join(parts))):
            return path
    pytest.skip(f"needs {'/'.join(parts)} of the package {package}: see example_suite/README.md")
