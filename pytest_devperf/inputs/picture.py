"""Generate images: gradients, shapes and dither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from pytest_devperf.errors import CaseError
from pytest_devperf.inputs.bits import Bits, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

Pattern = Literal["gradient", "shapes", "dither"]

LARGEST_SIDE = 1 << 15
"""Longest side in pixels: a square of that size takes gigabytes; a larger number is a mistake."""

MOST_CHANNELS = 4
"""Grey, grey and alpha, RGB, RGBA."""

TURN = 512
"""Steps of one period of a gradient: 256 levels up, 256 down."""

SHAPES = 12
"""Number of shapes: enough that every part of the image has an edge, few enough that most stay visible."""

DOMAINS = {"gradient": 1, "shapes": 2, "dither": 3}
"""Seed domain of each pattern."""


def image(
    width: int, height: int | None = None, *, channels: int = 3, pattern: Pattern = "gradient", seed: int = 0
) -> NDArray[np.uint8]:
    """Generate an image.

    Args:
        width: Pixels.
        height: Pixels; None: a square.
        channels: 1 to 4.
        pattern: `gradient` is smooth and compresses well; `shapes` has rectangles, discs and edges,
            `dither` is the gradient in black and white grain, the worst for a compressor.
        seed: A different seed gives a different image of the same kind.

    Returns:
        (height, width, channels) uint8.

    Raises:
        CaseError: A parameter is out of bounds.
    """
    width = whole("width", width, least=1, most=LARGEST_SIDE)
    height = width if height is None else whole("height", height, least=1, most=LARGEST_SIDE)
    channels = whole("channels", channels, least=1, most=MOST_CHANNELS)
    draw = _PATTERNS.get(pattern)
    if draw is None:
        raise CaseError(f"devperf.inputs.image: unknown pattern {pattern!r}", f"use one of {', '.join(_PATTERNS)}")
    return draw(Bits(DOMAINS[pattern], seed), height, width, channels)


def _gradient(bits: Bits, height: int, width: int, channels: int) -> NDArray[np.uint8]:
    """Draw a gradient along both sides, each channel with its own slope and phase."""
    import numpy as np

    y = np.arange(height, dtype=np.int64)[:, None]
    x = np.arange(width, dtype=np.int64)[None, :]
    planes = []
    for _ in range(channels):
        phase, across, down = bits.one(0, TURN), bits.one(1, 4), bits.one(1, 4)
        step = (phase + x * (TURN * across) // width + y * (TURN * down) // height) % TURN
        planes.append(np.minimum(step, TURN - 1 - step))
    return np.stack(planes, axis=-1).astype(np.uint8)


def _shapes(bits: Bits, height: int, width: int, channels: int) -> NDArray[np.uint8]:
    """Draw rectangles and discs, each in a single colour, over a gradient."""
    import numpy as np

    pixels = _gradient(bits, height, width, channels)
    y = np.arange(height, dtype=np.int64)[:, None]
    x = np.arange(width, dtype=np.int64)[None, :]
    side = max(1, min(height, width) // 4)
    for number in range(SHAPES):
        middle_y, middle_x = bits.one(0, height), bits.one(0, width)
        half_y, half_x = bits.one(0, side) + 1, bits.one(0, side) + 1
        colour = bits.below(channels, 256).astype(np.uint8)
        if number % 2:
            inside = (y - middle_y) ** 2 + (x - middle_x) ** 2 <= half_y**2
        else:
            inside = (abs(y - middle_y) <= half_y) & (abs(x - middle_x) <= half_x)
        pixels[inside] = colour
    return pixels


def _dither(bits: Bits, height: int, width: int, channels: int) -> NDArray[np.uint8]:
    """Draw grain: a pixel is white if the gradient exceeds its random threshold."""
    import numpy as np

    smooth = _gradient(bits, height, width, channels)
    threshold = bits.draw(smooth.size, 8).reshape(smooth.shape)
    return cast("NDArray[np.uint8]", np.where(smooth > threshold, 255, 0).astype(np.uint8))


_PATTERNS: dict[str, Callable[[Bits, int, int, int], NDArray[np.uint8]]] = {
    "gradient": _gradient,
    "shapes": _shapes,
    "dither": _dither,
}
