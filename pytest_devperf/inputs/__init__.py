"""Generate synthetic inputs: the same parameters give the same values in every run on every machine.

The values are computed from raw words of a bit generator with integer arithmetic, so neither the NumPy version nor the
machine's mathematics library can change them. Any change of values raises `VERSION`.
"""

from __future__ import annotations

from pytest_devperf.inputs.array import tensor
from pytest_devperf.inputs.bits import VERSION
from pytest_devperf.inputs.language import text, tokens
from pytest_devperf.inputs.picture import image
from pytest_devperf.inputs.sound import audio

__all__ = ["VERSION", "audio", "image", "tensor", "text", "tokens"]
