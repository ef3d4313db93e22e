"""Whether somebody said the word: a LiteRT model, where all others here are ONNX."""

from __future__ import annotations

import pytest

from example_suite.zoo import files


@pytest.mark.devperf_full
def test_wake_word(devperf) -> None:
    """The model alone: 30 ms of features in, one probability out. On a phone it runs by LiteRT's benchmark_model."""
    outputs = devperf.model(files.packaged("pymicro_wakeword", "models", "okay_nabu.tflite"))

    for probability in outputs.values():
        assert probability.shape == (1, 1)
