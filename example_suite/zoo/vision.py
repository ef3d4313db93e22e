"""Models that look: their weights are filters whose answer on a drawn scene is known, or seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from example_suite.zoo.net import Net

if TYPE_CHECKING:
    from onnx import ModelProto

RADII = (4, 7, 10)
"""Radii in pixels of the discs that the detector's three filters fit."""

CORNERS = ("top left", "top right", "bottom left", "bottom right")
"""What the keypoint model marks."""

CORNER = 9
"""Side of a corner filter in pixels."""


def segmenter() -> ModelProto:
    """Tell coloured things from grey ground, with a small U-shaped network: (1, 3, h, w) in 0…1 -> (1, 4, h, w)."""
    net = Net("segmenter")
    image = net.input("image", (1, 3, "height", "width"))
    # Each colour against the mean of the others, smoothed in four ways.
    against = np.full((3, 3), -0.5) + 1.5 * np.eye(3)
    smoothings = [np.zeros((3, 3)), np.full((3, 3), 1 / 9), np.zeros((3, 3)), np.zeros((3, 3))]
    smoothings[0][1, 1], smoothings[2][1, :], smoothings[3][:, 1] = 1, 1 / 3, 1 / 3
    kernel = np.stack([row[:, None, None] * smooth for smooth in smoothings for row in against])
    fine = net.relu(net.conv(image, kernel))
    groups = np.tile(np.eye(3), (8, 4)) / 4
    coarse = net.relu(net.conv(fine, groups[:, :, None, None] * np.full((3, 3), 1 / 9), stride=2))
    groups = np.tile(np.eye(3), (8, 8)) / 8
    coarse = net.relu(net.conv(coarse, groups[:, :, None, None] * np.full((3, 3), 1 / 9)))
    scales = net.weight(np.array([1, 1, 2, 2], dtype=np.float32))
    up = net.op("Resize", coarse, "", scales, mode="nearest")
    both = net.op("Concat", fine, up, axis=1)
    # A colour's score is mostly its sharp features; the ground's is a constant.
    head = np.zeros((4, 36, 1, 1))
    for colour in range(3):
        head[colour + 1, colour:12:3] = 0.22
        head[colour + 1, 12 + colour :: 3] = 0.12 / 8
    net.output("scores", (1, 4, "height", "width"), net.conv(both, head, np.array([0.2, 0, 0, 0])))
    return net.model()


def stylist() -> ModelProto:
    """Paint an image anew, with residual blocks and instance norms: (1, 3, h, w) in 0…1 -> the same."""
    net = Net("stylist", seed=100)
    width = 16
    value = net.input("image", (1, 3, "height", "width"))
    value = _normed(net, net.conv(value, net.random(width, 3, 5, 5)), width)
    value = _normed(net, net.conv(net.relu(value), net.random(width, width, 3, 3), stride=2), width)
    for _ in range(3):
        inner = _normed(net, net.conv(net.relu(value), net.random(width, width, 3, 3)), width)
        value = net.op("Add", value, net.conv(net.relu(inner), net.random(width, width, 3, 3)))
    scales = net.weight(np.array([1, 1, 2, 2], dtype=np.float32))
    value = net.op("Resize", net.relu(value), "", scales, mode="nearest")
    painted = net.op("Sigmoid", net.conv(value, net.random(3, width, 3, 3) * np.float32(0.5)))
    net.output("painted", (1, 3, "height", "width"), painted)
    return net.model()


def _normed(net: Net, value: str, width: int) -> str:
    scale, shift = net.weight(np.ones(width, dtype=np.float32)), net.weight(np.zeros(width, dtype=np.float32))
    return net.op("InstanceNormalization", value, scale, shift)


def detector() -> ModelProto:
    """Find bright discs of three sizes by centre-surround filters: (1, 1, h, w) in 0…1 -> heat (1, 3, h, w)."""
    net = Net("detector")
    image = net.input("image", (1, 1, "height", "width"))
    side = 2 * RADII[-1] + 9
    offset = np.arange(side) - side // 2
    square = offset[:, None] ** 2 + offset[None, :] ** 2
    kernels = []
    for radius in RADII:
        inside, around = square <= radius**2, (square > radius**2) & (square <= (radius + 3) ** 2)
        # A disc of this size gives 1; a larger one also fills the ring, a smaller one leaves the inside dark.
        kernels.append(inside / inside.sum() - around / around.sum())
    heat = net.relu(net.conv(image, np.stack(kernels)[:, None]))
    # Only local peaks stay: a place keeps its heat where it is the highest of its surroundings.
    highest = net.op("MaxPool", heat, kernel_shape=[7, 7], pads=[3, 3, 3, 3], strides=[1, 1])
    peak = net.op("Cast", net.op("Equal", heat, highest), to=1)
    net.output("heat", (1, len(RADII), "height", "width"), net.op("Mul", heat, peak))
    return net.model()


def keypointer() -> ModelProto:
    """Mark the four corners of a bright box: (1, 1, h, w) in 0…1 -> heat (1, 4, h, w), each summing to 1."""
    net = Net("keypointer")
    image = net.input("image", (1, 1, "height", "width"))
    half = CORNER // 2
    inside = np.full((CORNER, CORNER), -1.0 / (CORNER**2 - (half + 1) ** 2))
    inside[half:, half:] = 1.0 / (half + 1) ** 2
    kernels = np.stack([inside, inside[:, ::-1], inside[::-1], inside[::-1, ::-1]])[:, None]
    box = np.full((1, 1, 3, 3), 1 / 9)
    heat = net.relu(net.conv(net.conv(image, box), kernels))
    flat = net.op("Reshape", heat, net.weight(np.array([1, 4, -1], dtype=np.int64)))
    sharp = net.op("Mul", flat, net.weight(np.float32(60.0)))
    share = net.op("Softmax", sharp, axis=-1)
    net.output("heat", (1, 4, "height", "width"), net.op("Reshape", share, net.op("Shape", heat)))
    return net.model()


def embedder() -> ModelProto:
    """Give an image a direction in 64 dimensions, with four seeded convolutions: (n, 3, 64, 64) -> (n, 64)."""
    net = Net("embedder", seed=200)
    value = net.input("image", ("batch", 3, 64, 64))
    for width_in, width_out in ((3, 16), (16, 32), (32, 64), (64, 64)):
        value = net.relu(net.conv(value, net.random(width_out, width_in, 3, 3), stride=2))
    pooled = net.op("Flatten", net.op("GlobalAveragePool", value), axis=1)
    centred = net.op("Sub", pooled, net.op("ReduceMean", pooled, axes=[1], keepdims=1))
    net.output("embedding", ("batch", 64), net.unit(net.linear(centred, 64, 64)))
    return net.model()
