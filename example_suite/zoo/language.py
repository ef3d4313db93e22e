"""Models of sequences: a small transformer over words, a small recurrent network over sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from example_suite.zoo.net import Net

if TYPE_CHECKING:
    from onnx import ModelProto

VOCABULARY = 4096
"""Rows of the word table."""

WIDTH, HEADS, LAYERS = 64, 4, 2
"""Shape of the transformer: two layers take about as long as one of a phone-sized model."""

MELS = 40
"""Bands of the sound's spectrum."""

LETTERS = 29
"""Blank, blank space, apostrophe and 26 letters: what a speech recogniser emits."""


def text_encoder() -> ModelProto:
    """Give a text a direction, with a seeded transformer: tokens (1, n) int64 -> (1, 64) of length 1."""
    net = Net("text_encoder", seed=300)
    tokens = net.input("tokens", (1, "sequence"), "int64")
    table = net.weight(net.random(VOCABULARY, WIDTH))
    value = net.op("Gather", table, tokens, axis=0)
    for _ in range(LAYERS):
        value = _norm(net, net.op("Add", value, _attention(net, value)))
        wide = net.relu(net.linear(value, WIDTH, 4 * WIDTH))
        value = _norm(net, net.op("Add", value, net.linear(wide, 4 * WIDTH, WIDTH)))
    net.output("embedding", (1, WIDTH), net.unit(net.op("ReduceMean", value, axes=[1], keepdims=0)))
    return net.model()


def _attention(net: Net, value: str) -> str:
    """Let every place look at every other, by four heads."""
    shape = net.weight(np.array([0, 0, HEADS, WIDTH // HEADS], dtype=np.int64))

    def heads(perm: list[int]) -> str:
        return net.op("Transpose", net.op("Reshape", net.linear(value, WIDTH, WIDTH), shape), perm=perm)

    query, key, held = heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3])
    scaled = net.op("Mul", net.op("MatMul", query, key), net.weight(np.float32(0.25)))
    seen = net.op("MatMul", net.op("Softmax", scaled, axis=-1), held)
    joined = net.op("Transpose", seen, perm=[0, 2, 1, 3])
    flat = net.op("Reshape", joined, net.weight(np.array([0, 0, WIDTH], dtype=np.int64)))
    return net.linear(flat, WIDTH, WIDTH)


def _norm(net: Net, value: str) -> str:
    scale, shift = net.weight(np.ones(WIDTH, dtype=np.float32)), net.weight(np.zeros(WIDTH, dtype=np.float32))
    return net.op("LayerNormalization", value, scale, shift, axis=-1)


def acoustic() -> ModelProto:
    """Score letters over time, with two convolutions and a GRU: mels (1, 40, n) -> (n / 2, 29), each summing to 1."""
    net = Net("acoustic", seed=400)
    hidden = 64
    mels = net.input("mels", (1, MELS, "frames"))
    value = net.relu(net.conv(mels, net.random(hidden, MELS, 5)))
    value = net.relu(net.conv(value, net.random(hidden, hidden, 5), stride=2))
    steps = net.op("Transpose", value, perm=[2, 0, 1])
    weights = [net.weight(net.random(3 * hidden, hidden)[None] * np.float32(0.5)) for _ in range(2)]
    heard = net.op("Squeeze", net.op("GRU", steps, *weights, hidden_size=hidden), net.weight(np.array([1, 2])))
    scores = net.op("Softmax", net.linear(heard, hidden, LETTERS), axis=-1)
    net.output("letters", ("steps", LETTERS), scores)
    return net.model()
