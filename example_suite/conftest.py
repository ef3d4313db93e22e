"""What the cases share: the folder of the built models, and a way to open one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest

from example_suite.zoo import files

onnxruntime.set_default_logger_severity(3)  # the light models name unused weights; that's no news


@pytest.fixture(scope="session")
def model_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give a built model's file by its name; the files stay in pytest's cache."""
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("example-models") if cache else tmp_path_factory.mktemp("example-models")
    return lambda name: files.built(name, Path(folder))


@pytest.fixture(scope="session")
def light() -> Callable[[str], Path]:
    """Give a light model of the package onnx by its name: a real topology with generated weights."""
    return lambda name: files.packaged("onnx", "backend", "test", "data", "light", f"light_{name}.onnx")
