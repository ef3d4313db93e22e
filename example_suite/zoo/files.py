"""Where the models' files are: written into a cache by what builds them, or inside an installed package."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from example_suite.zoo import language, net, reading, vision
from pytest_devperf import inputs

if TYPE_CHECKING:
    from onnx import ModelProto

BUILDERS: dict[str, Callable[[], ModelProto]] = {
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
    """Give a model's file, built once.

    It is named by a hash of the code that builds it, so that changed code is another file, and a process that finds it
    need not import onnx.
    """
    path = folder / f"{name}-{_recipe(name)}.onnx"
    if not path.exists():
        pytest.importorskip("onnx", reason="building the example models needs the package onnx")
        # Written beside and moved into place: another process may be doing the same.
        descriptor, beside = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(BUILDERS[name]().SerializeToString(deterministic=True))
        Path(beside).replace(path)
    return path


def _recipe(name: str) -> str:
    """Hash what a model is made by: its module, the graph writer, and the version of the seeded weights."""
    made_by = sys.modules[BUILDERS[name].__module__]
    sources = [Path(str(module.__file__)).read_bytes() for module in (made_by, net)]
    return hashlib.sha256(b"\0".join([*sources, str(inputs.VERSION).encode()])).hexdigest()[:12]


def packaged(package: str, *parts: str) -> Path:
    """Find a file of an installed package without importing it; skip the test where there is none."""
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or ()) if found else ():
        # A part may be a pattern: packages number their models' folders.
        for path in sorted(Path(folder).glob("/".join(parts))):
            return path
    pytest.skip(f"needs {'/'.join(parts)} of the package {package}: see example_suite/README.md")
