"""The example suite's models are the same file everywhere, old enough for old runtimes, and right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from example_suite.zoo import files
from example_suite.zoo.reading import ALPHABET, drawn

ROOT = Path(__file__).parents[2]
SIZES = {"batch": 2, "height": 40, "width": 56, "sequence": 9, "frames": 30}
SHA = """
import hashlib
from example_suite.zoo import files
built = b"".join(build().SerializeToString(deterministic=True) for build in files.BUILDERS.values())
print(hashlib.sha256(built).hexdigest())
"""


def test_two_interpreters_build_the_same_bytes() -> None:
    seen = {
        subprocess.run(
            [sys.executable, "-c", SHA],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(seen) == 1


@pytest.mark.parametrize("name", files.BUILDERS)
def test_a_built_model_is_old_enough_and_gives_numbers(name: str, tmp_path: Path) -> None:
    path = files.built(name, tmp_path)
    model = onnx.load(path)
    session = onnxruntime.InferenceSession(str(path))
    feeds = {
        given.name: np.zeros(
            [size if isinstance(size, int) else SIZES[size] for size in given.shape],
            dtype="int64" if "int64" in given.type else "float32",
        )
        for given in session.get_inputs()
    }

    outputs = session.run(None, feeds)

    assert model.ir_version <= 8
    assert model.opset_import[0].version <= 17
    assert all(np.isfinite(output).all() for output in outputs)


def test_a_built_model_is_written_once_and_found_without_onnx(tmp_path: Path) -> None:
    first = files.built("reader", tmp_path)
    written_ns = first.stat().st_mtime_ns
    again = files.built("reader", tmp_path)

    assert again == first
    assert again.stat().st_mtime_ns == written_ns
    assert list(tmp_path.iterdir()) == [first]
    find = "import sys, pathlib; from example_suite.zoo import files; files.built('reader', pathlib.Path(sys.argv[1]))"
    code = f"{find}; raise SystemExit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=False).returncode == 0


def test_a_case_whose_package_is_absent_is_skipped_with_the_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match="needs a/b of the package no_such_package"):
        files.packaged("no_such_package", "a", "b")


@pytest.mark.parametrize("text", [ALPHABET, "A A", "11", "THE 5S AND 8BS"])
def test_the_reader_reads_every_glyph_through_grain(text: str, tmp_path: Path) -> None:
    from example_suite.test_reading import Reader
    from pytest_devperf import inputs

    image = drawn(text).astype(int)
    grainy = np.clip(image + inputs.tensor(image.shape, "int64", low=-20, high=21), 0, 255).astype(np.uint8)

    assert Reader(files.built("reader", tmp_path))(grainy) == text
