"""What a picture says: a line of text, read by a model whose filters are the font."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from example_suite.runtime import session
from example_suite.zoo import files
from example_suite.zoo.reading import ALPHABET, drawn

PLATE = "DEVPERF 2026 QUICK FOX"


class Reader:
    """A picture of a line in, its text out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)

    def __call__(self, image: np.ndarray) -> str:
        """Read; a wide gap becomes a blank."""
        ink = 1 - image.astype(np.float32)[None, None] * np.float32(2 / 255)
        (scores,) = self.model.run(None, {"line": ink})
        classes = scores[0].argmax(axis=1)
        # CTC: repeats are one, blanks part.
        starts = np.flatnonzero((classes > 0) & (classes != np.roll(classes, 1)))
        read, last = "", None
        for column in starts:
            read += " " if last is not None and column - last > 20 else ""
            read += ALPHABET[classes[column] - 1]
            last = column
        return read


def test_read_a_line(devperf, model_of) -> None:
    reader = devperf.load(Reader, model_of("reader"))

    read = devperf(reader, drawn(PLATE))

    assert read == PLATE


def test_reader_alone(devperf, model_of) -> None:
    outputs = devperf.model(model_of("reader"), dims={"height": 26, "width": 512})

    assert outputs["scores"].sum(axis=-1) == pytest.approx(1, abs=1e-3)


@pytest.mark.devperf_full
def test_ocr_detection_of_a_page(devperf) -> None:
    path = files.packaged("rapidocr_onnxruntime", "models", "ch_PP-OCRv4_det_infer.onnx")
    line = np.pad(drawn("HELLO 42"), ((100, 100), (80, 80)), constant_values=255)
    page = np.asarray(Image.fromarray(line).resize((256, 256)), dtype=np.float32)
    pixels = ((page / 255 - 0.5) / 0.5)[None, None].repeat(3, axis=1)

    outputs = devperf.model(path, inputs={"x": pixels})

    heat = next(iter(outputs.values()))[0, 0]
    assert heat[110:146].max() > 0.5 > heat[:60].max()


@pytest.mark.devperf_full
def test_ocr_recognition_of_a_line(devperf) -> None:
    path = files.packaged("rapidocr_onnxruntime", "models", "ch_PP-OCRv4_rec_infer.onnx")

    outputs = devperf.model(path, inputs={"x": devperf.inputs.tensor((1, 3, 48, 160))})

    assert next(iter(outputs.values())).sum(axis=-1) == pytest.approx(1, abs=1e-2)
