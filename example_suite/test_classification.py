"""What is in the picture: real topologies, alone and behind an image file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from example_suite.runtime import session

MEAN, DEVIATION = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])  # of ImageNet


class Classifier:
    """An image file in, the five likeliest classes out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)
        self.name = self.model.get_inputs()[0].name

    def prepare(self, file: bytes) -> np.ndarray:
        """Decode, scale to 224 pixels and normalise: (1, 3, 224, 224)."""
        image = Image.open(io.BytesIO(file)).convert("RGB").resize((224, 224), Image.Resampling.BILINEAR)
        pixels = (np.asarray(image, dtype=np.float32) / 255 - MEAN) / DEVIATION
        return pixels.transpose(2, 0, 1)[None]

    def __call__(self, file: bytes) -> list[tuple[int, float]]:
        """Give (class, probability), the likeliest first."""
        (scores,) = self.model.run(None, {self.name: self.prepare(file)})
        flat = scores.reshape(-1)
        return [(int(at), float(flat[at])) for at in np.argsort(-flat, kind="stable")[:5]]


def reference(path: Path) -> np.ndarray:
    """Read the output that the package ships beside its model."""
    from onnx import TensorProto, numpy_helper

    beside = path.with_name(f"{path.stem}_output_0.pb")
    return numpy_helper.to_array(TensorProto.FromString(beside.read_bytes()))


def ramp() -> np.ndarray:
    """Make the input that the shipped output belongs to."""
    size = 3 * 224 * 224
    return (np.arange(size).reshape(1, 3, 224, 224) / size).astype(np.float32)


def test_squeezenet(devperf, light) -> None:
    path = light("squeezenet")

    outputs = devperf.model(path, inputs={"data_0": ramp()})

    np.testing.assert_allclose(next(iter(outputs.values())), reference(path), rtol=1e-3, atol=1e-5)


@pytest.mark.devperf_full
def test_shufflenet(devperf, light) -> None:
    path = light("shufflenet")

    outputs = devperf.model(path, inputs={"gpu_0/data_0": ramp()})

    np.testing.assert_allclose(next(iter(outputs.values())), reference(path), rtol=1e-3, atol=1e-5)


@pytest.mark.devperf_full
def test_resnet50(devperf, light) -> None:
    outputs = devperf.model(light("resnet50"))

    probabilities = next(iter(outputs.values()))
    assert probabilities.shape == (1, 1000)
    assert probabilities.sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.devperf_full
def test_classify_a_photo(devperf, light) -> None:
    # BMP: a compressed file's bytes would change with the compressor's version, and so be another workload.
    file = io.BytesIO()
    Image.fromarray(devperf.inputs.image(640, 480, pattern="shapes")).save(file, "BMP")
    classifier = devperf.load(Classifier, light("shufflenet"))

    best = devperf(classifier, file.getvalue())
    devperf.measure("decode", classifier.prepare, file.getvalue())

    assert len(best) == 5
    assert all(0 <= probability <= 1 for _, probability in best)
    assert best == sorted(best, key=lambda pair: -pair[1])
