"""Where something is: boxes around discs, and the corners of a box."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from example_suite.runtime import session
from example_suite.zoo.vision import CORNERS, RADII

DISCS = ((30, 24, 4), (70, 60, 7), (25, 90, 10), (95, 100, 7))
"""Rows, columns and radii drawn into the scene."""


class Box(NamedTuple):
    """A found thing, in pixels."""

    top: int
    left: int
    bottom: int
    right: int
    score: float


def discs(side: int = 128) -> np.ndarray:
    """Draw bright discs on a dark, slightly grainy ground: (side, side) uint8."""
    y, x = np.mgrid[:side, :side]
    image = np.full((side, side), 30) + (7 * x + 13 * y) % 11
    for row, column, radius in DISCS:
        image[(y - row) ** 2 + (x - column) ** 2 <= radius**2] = 220
    return image.astype(np.uint8)


class Detector:
    """A grey image in, boxes out."""

    def __init__(self, path: Path, threshold: float = 0.5) -> None:
        self.model = session(path)
        self.threshold = threshold

    def __call__(self, image: np.ndarray) -> list[Box]:
        """Find the discs, the surest first."""
        (heat,) = self.model.run(None, {"image": image[None, None].astype(np.float32) / 255})
        boxes = []
        for size, row, column in zip(*np.nonzero(heat[0] > self.threshold), strict=True):
            radius, score = RADII[size], float(heat[0, size, row, column])
            boxes.append(Box(row - radius, column - radius, row + radius + 1, column + radius + 1, score))
        return self.distinct(sorted(boxes, key=lambda box: -box.score))

    def distinct(self, boxes: list[Box]) -> list[Box]:
        """Leave out each box that mostly covers a surer one."""
        kept: list[Box] = []
        for box in boxes:
            if all(overlap(box, other) < 0.2 for other in kept):
                kept.append(box)
        return kept


def overlap(one: Box, other: Box) -> float:
    """Intersection over union of two boxes."""
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    width = min(one.right, other.right) - max(one.left, other.left)
    shared = max(0, height) * max(0, width)
    areas = [(box.bottom - box.top) * (box.right - box.left) for box in (one, other)]
    return shared / (sum(areas) - shared)


class Keypoints:
    """A grey image in, the corners of the box in it out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)

    def __call__(self, image: np.ndarray) -> dict[str, tuple[float, float]]:
        """Give (row, column) of each corner, finer than a pixel: the centre of its heat."""
        (heat,) = self.model.run(None, {"image": image[None, None].astype(np.float32) / 255})
        rows, columns = np.arange(image.shape[0]), np.arange(image.shape[1])
        return {
            name: (float(plane.sum(axis=1) @ rows), float(plane.sum(axis=0) @ columns))
            for name, plane in zip(CORNERS, heat[0], strict=True)
        }


def box_image(side: int = 96) -> np.ndarray:
    """Draw a bright box from (20, 30) to (69, 79): (side, side) uint8."""
    image = np.full((side, side), 25, dtype=np.uint8)
    image[20:70, 30:80] = 230
    return image


def test_detect_discs(devperf, model_of) -> None:
    image = discs()
    detector = devperf.load(Detector, model_of("detector"))

    boxes = devperf(detector, image)
    devperf.workload(boxes=len(boxes))

    assert len(boxes) == len(DISCS)
    for row, column, radius in DISCS:
        true = Box(row - radius, column - radius, row + radius + 1, column + radius + 1, 1)
        assert max(overlap(true, box) for box in boxes) > 0.5


@pytest.mark.devperf_full
def test_detector_alone(devperf, model_of) -> None:
    outputs = devperf.model(model_of("detector"), dims={"height": 192, "width": 192})

    assert outputs["heat"].shape == (1, len(RADII), 192, 192)
    assert (outputs["heat"] >= 0).all()


def test_keypoints_alone(devperf, model_of) -> None:
    outputs = devperf.model(model_of("keypointer"), dims={"height": 96, "width": 96})

    assert outputs["heat"].sum(axis=(2, 3)) == pytest.approx(1, abs=1e-3)


@pytest.mark.devperf_full
def test_find_the_corners(devperf, model_of) -> None:
    keypoints = devperf.load(Keypoints, model_of("keypointer"))

    corners = devperf(keypoints, box_image())

    true = {"top left": (20, 30), "top right": (20, 79), "bottom left": (69, 30), "bottom right": (69, 79)}
    for name, place in true.items():
        assert corners[name] == pytest.approx(place, abs=1.5)
