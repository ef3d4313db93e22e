"""What a picture and a text are like: directions whose angle tells how alike two of them are."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from example_suite.runtime import session
from example_suite.zoo.language import VOCABULARY


class ImageEmbedder:
    """Images in, unit vectors out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)

    def __call__(self, *images: np.ndarray) -> np.ndarray:
        """Scale to 64 pixels and embed: (n, 64)."""
        small = [np.asarray(Image.fromarray(image).resize((64, 64)), dtype=np.float32) for image in images]
        (vectors,) = self.model.run(None, {"image": np.stack(small).transpose(0, 3, 1, 2) / 127.5 - 1})
        return vectors


class TextEmbedder:
    """A text in, a unit vector out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)

    def tokenize(self, text: str) -> np.ndarray:
        """Give every word a row of the table by its hash: (1, n) int64."""
        words = re.findall(r"\w+", text.lower())
        return np.array([[zlib.crc32(word.encode()) % VOCABULARY for word in words]], dtype=np.int64)

    def __call__(self, text: str) -> np.ndarray:
        """Embed: (64,)."""
        (vectors,) = self.model.run(None, {"tokens": self.tokenize(text)})
        return vectors[0]


def test_image_embedder_alone(devperf, model_of) -> None:
    outputs = devperf.model(model_of("embedder"), dims={"batch": 4})

    assert np.linalg.norm(outputs["embedding"], axis=1) == pytest.approx(1, abs=1e-4)


@pytest.mark.devperf_full
def test_embed_pictures(devperf, model_of) -> None:
    one = devperf.inputs.image(96, 96, pattern="shapes", seed=1)
    grainy = np.clip(one.astype(int) + devperf.inputs.tensor(one.shape, "int64", low=-12, high=13), 0, 255)
    other = devperf.inputs.image(96, 96, pattern="shapes", seed=2)
    embedder = devperf.load(ImageEmbedder, model_of("embedder"))

    first, alike, different = devperf(embedder, one, grainy.astype(np.uint8), other)

    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-4)
    assert first @ alike > 0.98
    assert first @ alike > first @ different + 0.01


def test_text_encoder_alone(devperf, model_of) -> None:
    outputs = devperf.model(
        model_of("text_encoder"), inputs={"tokens": devperf.inputs.tokens(64, vocabulary=VOCABULARY)[None]}
    )

    assert np.linalg.norm(outputs["embedding"]) == pytest.approx(1, abs=1e-4)


@pytest.mark.devperf_full
def test_embed_a_text(devperf, model_of) -> None:
    text = devperf.inputs.text(120)
    embedder = devperf.load(TextEmbedder, model_of("text_encoder"))

    vector = devperf(embedder, text)
    devperf.measure("tokenize", embedder.tokenize, text)

    retold = embedder(text.replace("the", "that", 1))
    assert vector @ retold > 0.95
    assert vector @ retold > vector @ embedder("an entirely different remark about nothing whatsoever")
