"""Synthetic inputs: pure functions of their parameters, the same values in every run on every machine.

They come from raw bit-generator words and integer arithmetic alone, so neither the NumPy version nor the
machine's mathematics library can change a value. Whatever changes a value raises `VERSION`.
"""

from __future__ import annotations

from pytest_devperf.inputs.array import tensor
from pytest_devperf.inputs.bits import VERSION
from pytest_devperf.inputs.language import text, tokens
from pytest_devperf.inputs.picture import image
from pytest_devperf.inputs.sound import audio

__all__ = ["VERSION", "audio", "image", "tensor", "text", "tokens"]
