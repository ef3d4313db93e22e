"""What kind of file some bytes are: Magika's model, alone and behind its features."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from example_suite.runtime import session
from example_suite.zoo import files

SIDE, PADDING = 1024, 256
"""Bytes taken from either end, and the token that fills what is short."""


def magika_file(name: str) -> Path:
    """Find a file of Magika's model in its package."""
    return files.packaged("magika", "models", "standard_*", name)


SOURCE = b'''
def parted(items, wanted):
    """Part the items that are wanted from the others."""
    kept, rest = [], []
    for item in items:
        (kept if wanted(item) else rest).append(item)
    return kept, rest
'''


class FileKind:
    """Bytes in, a label out."""

    def __init__(self, model: Path, config: Path) -> None:
        self.model = session(model)
        self.labels = json.loads(config.read_bytes())["target_labels_space"]

    def features(self, content: bytes) -> np.ndarray:
        """Take the first and last kilobyte, without the blanks outside: (1, 2048) int32."""
        tokens = np.full((1, 2 * SIDE), PADDING, dtype=np.int32)
        first, last = content.lstrip()[:SIDE], content.rstrip()[-SIDE:]
        tokens[0, : len(first)] = np.frombuffer(first, dtype=np.uint8)
        tokens[0, 2 * SIDE - len(last) :] = np.frombuffer(last, dtype=np.uint8)
        return tokens

    def __call__(self, content: bytes) -> tuple[str, float]:
        """Give the label and its probability."""
        (scores,) = self.model.run(None, {"bytes": self.features(content)})
        return self.labels[scores[0].argmax()], float(scores.max())


@pytest.mark.devperf_full
def test_magika_alone(devperf) -> None:
    outputs = devperf.model(
        magika_file("model.onnx"), inputs={"bytes": devperf.inputs.tensor((1, 2 * SIDE), "int32", high=256)}
    )

    assert outputs["target_label"].sum() == pytest.approx(1, abs=1e-2)


@pytest.mark.devperf_full
def test_tell_python_from_prose(devperf) -> None:
    kind = devperf.load(FileKind, magika_file("model.onnx"), magika_file("config.min.json"))

    label, probability = devperf(kind, SOURCE * 20)

    assert label == "python"
    assert probability > 0.9
    assert kind(devperf.inputs.text(300).encode())[0] == "txt"
