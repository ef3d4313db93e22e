"""Which pixel belongs to what, and a picture painted anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from example_suite.runtime import session

RED, GREEN, BLUE = 1, 2, 3


def scene(side: int = 96) -> tuple[np.ndarray, np.ndarray]:
    """Draw three coloured things on grey ground: pixels (side, side, 3) uint8, and the true classes."""
    y, x = np.mgrid[:side, :side]
    truth = np.zeros((side, side), dtype=np.uint8)
    truth[(y - side // 4) ** 2 + (x - side // 4) ** 2 < (side // 6) ** 2] = RED
    truth[side // 2 : side // 2 + side // 3, side // 8 : side // 2] = GREEN
    truth[(abs(y - side // 2) + abs(x - 3 * side // 4)) < side // 5] = BLUE
    palette = np.array([[0, 0, 0], [220, 40, 50], [40, 200, 60], [30, 50, 230]])
    ground = (90 + 60 * x // side)[..., None].repeat(3, axis=-1)
    return np.where(truth[..., None] > 0, palette[truth], ground).astype(np.uint8), truth


class Segmenter:
    """An image in, a class for each of its pixels out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """Give (h, w) uint8."""
        pixels = image.astype(np.float32).transpose(2, 0, 1)[None] / 255
        (scores,) = self.model.run(None, {"image": pixels})
        return scores[0].argmax(axis=0).astype(np.uint8)


class Stylist:
    """An image in, the same image painted anew out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """Scale to 128 pixels, paint, and scale back: the image's own shape, uint8."""
        height, width, _ = image.shape
        small = np.asarray(Image.fromarray(image).resize((128, 128)), dtype=np.float32)
        (painted,) = self.model.run(None, {"image": small.transpose(2, 0, 1)[None] / 255})
        levels = (painted[0].transpose(1, 2, 0) * 255).astype(np.uint8)
        return np.asarray(Image.fromarray(levels).resize((width, height)))


def overlap(mask: np.ndarray, truth: np.ndarray, kind: int) -> float:
    """Intersection over union of one class."""
    return float(((mask == kind) & (truth == kind)).sum() / ((mask == kind) | (truth == kind)).sum())


@pytest.mark.devperf_full
def test_segment_a_scene(devperf, model_of) -> None:
    image, truth = scene()
    segmenter = devperf.load(Segmenter, model_of("segmenter"))

    mask = devperf(segmenter, image)

    assert mask.shape == truth.shape
    assert min(overlap(mask, truth, kind) for kind in (RED, GREEN, BLUE)) > 0.85


def test_segmenter_alone(devperf, model_of) -> None:
    outputs = devperf.model(model_of("segmenter"), dims={"height": 96, "width": 96})

    assert outputs["scores"].shape == (1, 4, 96, 96)
    assert np.isfinite(outputs["scores"]).all()


@pytest.mark.devperf_full
def test_paint_a_picture(devperf, model_of) -> None:
    image = devperf.inputs.image(320, 240, pattern="shapes")
    stylist = devperf.load(Stylist, model_of("stylist"))

    painted = devperf(stylist, image)

    assert painted.shape == image.shape
    assert abs(painted.astype(int) - image).mean() > 10
