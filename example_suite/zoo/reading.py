"""A model that reads: each glyph of a small font is a filter, so it truly recognises what is drawn with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from example_suite.zoo.net import Net

if TYPE_CHECKING:
    from onnx import ModelProto

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

FONT = (
    "3E5149453E 00427F4000 4261514946 2141454B31 1814127F10 2745454539 3C4A494930 0171090503 3649494936 064949291E "
    "7E1111117E 7F49494936 3E41414122 7F4141221C 7F49494941 7F09090901 3E4149497A 7F0808087F 00417F4100 2040413F01 "
    "7F08142241 7F40404040 7F020C027F 7F0408107F 3E4141413E 7F09090906 3E4151215E 7F09192946 4649494931 01017F0101 "
    "3F4040403F 1F2040201F 3F4038403F 6314081463 0708700807 6151494543"
)
"""The font: five columns of seven pixels a glyph, the lowest bit at the top."""

SCALE = 2
"""Pixels a font pixel is drawn with."""

HEIGHT, WIDTH, GAP = 7 * SCALE, 5 * SCALE, 2 * SCALE
"""Size of a glyph and of the gap between two, in pixels."""

LIKENESS = 0.82
"""Share of agreement, from -1 to 1, that makes a glyph: noise costs a little, the next likest glyph much more."""


def glyph(character: str) -> np.ndarray:
    """Draw one glyph of ones on zeros: (14, 10) float32."""
    columns = bytes.fromhex(FONT.split()[ALPHABET.index(character)])
    pixels = np.array([[column >> row & 1 for column in columns] for row in range(7)], dtype=np.float32)
    return pixels.repeat(SCALE, axis=0).repeat(SCALE, axis=1)


def drawn(text: str, *, margin: int = 6) -> np.ndarray:
    """Write black text on white: (14 + 2 * margin, …) uint8."""
    line = np.zeros((HEIGHT + 2 * margin, 2 * margin + len(text) * (WIDTH + GAP)), dtype=np.float32)
    for number, character in enumerate(text):
        left = margin + number * (WIDTH + GAP)
        if character != " ":
            line[margin : margin + HEIGHT, left : left + WIDTH] = glyph(character)
    return (255 - 255 * line).astype(np.uint8)


def reader() -> ModelProto:
    """Recognise a line of text: ink (1, 1, h, w), -1 white to 1 black -> log-free scores (1, columns, 37).

    Class 0 is the blank of a CTC decoder, class i + 1 the alphabet's i-th character.
    """
    net = Net("reader")
    line = net.input("line", (1, 1, "height", "width"))
    templates = np.stack([2 * glyph(character) - 1 for character in ALPHABET])[:, None] / (HEIGHT * WIDTH)
    likeness = net.conv(line, templates, pads=[0, 0, 0, 0])
    best = net.op("ReduceMax", likeness, axes=[2], keepdims=0)
    sharp = net.op("Mul", best, net.weight(np.float32(40.0)))
    # The blank wins wherever no glyph is alike enough.
    first = net.op("ReduceMax", sharp, axes=[1], keepdims=1)
    nothing = net.op("Mul", first, net.weight(np.float32(0.0)))
    blank = net.op("Add", nothing, net.weight(np.float32(40.0 * LIKENESS)))
    scores = net.op("Transpose", net.op("Concat", blank, sharp, axis=1), perm=[0, 2, 1])
    net.output("scores", (1, "columns", len(ALPHABET) + 1), net.op("Softmax", scores, axis=-1))
    return net.model()
