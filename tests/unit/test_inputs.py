"""Synthetic inputs are the same everywhere, as their docstrings describe."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_devperf import inputs
from pytest_devperf.errors import CaseError

NUMERIC = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def digest(value: np.ndarray | str) -> str:
    """Hash the value, in little-endian byte order on every machine."""
    data = value.encode() if isinstance(value, str) else value.astype(value.dtype.newbyteorder("<")).tobytes()
    return hashlib.sha256(data).hexdigest()[:16]


# Values of VERSION 1. A change here is a change of every user's workload: raise VERSION with it.
GOLDEN = {
    "image gradient": (lambda: inputs.image(64, 48), "4d27af9707614991"),
    "image shapes": (lambda: inputs.image(64, 48, pattern="shapes", seed=5), "e941f9bda84e9869"),
    "image dither": (lambda: inputs.image(33, channels=1, pattern="dither"), "e3606174214e5356"),
    "audio": (lambda: inputs.audio(1.5), "626630b1def0bd28"),
    "audio 44.1 kHz": (lambda: inputs.audio(0.5, rate=44_100, seed=9), "a148243b67f3f840"),
    "tokens": (lambda: inputs.tokens(512), "d6d07b87e66e5ddb"),
    "tokens small": (lambda: inputs.tokens(100, vocabulary=7, seed=2), "a401332bc7b5684a"),
    "text": (lambda: inputs.text(200), "330a234adb7072dd"),
    "tensor bool": (lambda: inputs.tensor((3, 5), "bool"), "6b463cd05c177ba5"),
    "tensor int8": (lambda: inputs.tensor((3, 5), "int8", low=-128, high=128), "57445b86c35e1e89"),
    "tensor uint8": (lambda: inputs.tensor((3, 5), "uint8"), "99658d5e0e8e0ea4"),
    "tensor int64": (lambda: inputs.tensor((3, 5), "int64", low=-(2**63), high=2**63), "e759a87241fb6abf"),
    "tensor uint64": (lambda: inputs.tensor((3, 5), "uint64", high=2**64), "2467357078b4102c"),
    "tensor float16": (lambda: inputs.tensor((64,), "float16"), "d9413891357e26e8"),
    "tensor float32": (lambda: inputs.tensor((2, 3, 4)), "9151014f4a4a18c1"),
    "tensor float32 bounds": (lambda: inputs.tensor((64,), low=-0.3, high=1e6), "c2030f6b7b2fa76d"),
    "tensor float64": (lambda: inputs.tensor((64,), "float64", low=0.1, high=0.7, seed=1), "f58517f70e29e33f"),
    "tensor complex64": (lambda: inputs.tensor((8,), "complex64"), "8e364e6390f071d6"),
}


def test_the_golden_values_belong_to_this_version() -> None:
    assert inputs.VERSION == 1


@pytest.mark.parametrize("name", GOLDEN)
def test_every_machine_makes_the_golden_value(name: str) -> None:
    make, expected = GOLDEN[name]

    assert digest(make()) == expected


def test_importing_inputs_does_not_import_numpy() -> None:
    code = "import sys, pytest_devperf.inputs; raise SystemExit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


MAKERS = {
    "gradient": lambda seed: inputs.image(40, 30, seed=seed),
    "shapes": lambda seed: inputs.image(40, 30, pattern="shapes", seed=seed),
    "dither": lambda seed: inputs.image(40, 30, pattern="dither", seed=seed),
    "audio": lambda seed: inputs.audio(0.1, seed=seed),
    "tokens": lambda seed: inputs.tokens(60, seed=seed),
    "text": lambda seed: inputs.text(60, seed=seed),
    "tensor": lambda seed: inputs.tensor((60,), "uint8", seed=seed),
}
SEEDS = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize("kind", MAKERS)
@given(seed=SEEDS)
@settings(max_examples=10)
def test_the_same_parameters_give_the_same_value(kind: str, seed: int) -> None:
    make = MAKERS[kind]

    assert digest(make(seed)) == digest(make(seed))


@pytest.mark.parametrize("kind", MAKERS)
@given(seeds=st.lists(SEEDS, min_size=2, max_size=2, unique=True))
@settings(max_examples=10)
def test_another_seed_gives_another_value(kind: str, seeds: list[int]) -> None:
    make = MAKERS[kind]

    assert digest(make(seeds[0])) != digest(make(seeds[1]))


def test_a_value_is_the_callers_own_to_change() -> None:
    first = inputs.image(8, 8)
    first[:] = 0

    assert inputs.image(8, 8).any()


@given(
    width=st.integers(1, 60),
    height=st.one_of(st.none(), st.integers(1, 60)),
    channels=st.integers(1, 4),
    pattern=st.sampled_from(["gradient", "shapes", "dither"]),
)
@settings(max_examples=40)
def test_an_image_has_the_asked_shape(width: int, height: int | None, channels: int, pattern: str) -> None:
    image = inputs.image(width, height, channels=channels, pattern=pattern)

    assert image.shape == (height or width, width, channels)
    assert image.dtype == np.uint8


def test_a_gradient_is_smooth_and_spans_the_levels() -> None:
    image = inputs.image(512, 512).astype(int)

    assert np.abs(np.diff(image, axis=0)).max() <= 4
    assert np.abs(np.diff(image, axis=1)).max() <= 4
    assert image.min() <= 2
    assert image.max() >= 253


def test_shapes_have_edges_and_dither_is_black_and_white() -> None:
    shapes = inputs.image(128, 128, pattern="shapes").astype(int)

    assert np.abs(np.diff(shapes, axis=1)).max() > 60
    assert set(np.unique(inputs.image(64, 64, pattern="dither"))) == {0, 255}


@given(seconds=st.floats(0.01, 1.0), rate=st.sampled_from([8000, 16_000, 22_050, 48_000]))
@settings(max_examples=15)
def test_sound_has_the_asked_length_and_stays_in_range(seconds: float, rate: int) -> None:
    sound = inputs.audio(seconds, rate=rate)

    assert sound.shape == (int(seconds * rate),)
    assert sound.dtype == np.float32
    assert sound.min() >= -1
    assert sound.max() < 1


def test_sound_has_bursts_and_pauses() -> None:
    frames = inputs.audio(3.0).reshape(-1, 320)
    loudness = np.sqrt((frames.astype(np.float64) ** 2).mean(axis=1))

    assert loudness.max() > 0.1
    assert (loudness < 0.002).mean() > 0.1


def test_the_voice_sounds_between_80_and_3700_hertz() -> None:
    power = np.abs(np.fft.rfft(inputs.audio(4.0).astype(np.float64))) ** 2
    hertz = np.fft.rfftfreq(64_000, 1 / 16_000)

    assert power[(hertz > 80) & (hertz < 3700)].sum() > 0.98 * power.sum()


@given(length=st.integers(1, 300), vocabulary=st.integers(1, 2**31))
@settings(max_examples=40)
def test_tokens_are_below_the_vocabulary(length: int, vocabulary: int) -> None:
    tokens = inputs.tokens(length, vocabulary=vocabulary)

    assert tokens.shape == (length,)
    assert tokens.dtype == np.int64
    assert tokens.min() >= 0
    assert tokens.max() < vocabulary


def test_low_token_ids_are_far_commoner() -> None:
    tokens = inputs.tokens(20_000, vocabulary=30_000)

    assert (tokens < 100).mean() > 0.3
    assert (tokens >= 15_000).mean() > 0.01


@given(words=st.integers(1, 200))
@settings(max_examples=30)
def test_text_has_the_asked_number_of_words_and_ends_in_a_full_stop(words: int) -> None:
    text = inputs.text(words)

    assert len(text.split(" ")) == words
    assert text.endswith(".")
    assert text[0].isupper()
    assert text.isascii()


@pytest.mark.parametrize("dtype", NUMERIC)
@given(shape=st.lists(st.integers(0, 5), max_size=4))
@settings(max_examples=8)
def test_a_tensor_has_the_asked_shape_and_type(dtype: str, shape: list[int]) -> None:
    tensor = inputs.tensor(shape, dtype)

    assert tensor.shape == tuple(shape)
    assert tensor.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_fill_minus_one_to_one(dtype: str) -> None:
    tensor = inputs.tensor(4000, dtype).astype(np.float64)

    assert -1 <= tensor.min() < -0.98
    assert 0.98 < tensor.max() <= 1
    assert abs(tensor.mean()) < 0.05


@given(data=st.data(), dtype=st.sampled_from([name for name in NUMERIC if "int" in name]))
@settings(max_examples=60)
def test_integers_are_within_their_bounds(data: st.DataObject, dtype: str) -> None:
    limits = np.iinfo(dtype)
    low = data.draw(st.integers(int(limits.min), int(limits.max)))
    high = data.draw(st.integers(low + 1, int(limits.max) + 1))
    tensor = inputs.tensor(50, dtype, low=low, high=high)

    assert low <= int(tensor.min())
    assert int(tensor.max()) < high


def test_default_integers_can_index_a_small_table() -> None:
    assert inputs.tensor(1000, "int64").max() < 128
    assert inputs.tensor(1000, "int64").min() >= 0
    assert inputs.tensor(4000, "uint8").max() == 255


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: inputs.image(0), "width is 0: pass an int from 1"),
        (lambda: inputs.image(10, -1), "height is -1"),
        (lambda: inputs.image(1.5), "width is 1.5, which is not a whole number"),
        (lambda: inputs.image(10, channels=5), "channels is 5"),
        (lambda: inputs.image(10, pattern="plaid"), "unknown pattern 'plaid': use one of gradient, shapes, dither"),
        (lambda: inputs.image(10, seed=-1), "seed is -1"),
        (lambda: inputs.image(True), "width is True"),
        (lambda: inputs.audio(0), "seconds is 0"),
        (lambda: inputs.audio(float("nan")), "seconds is nan"),
        (lambda: inputs.audio(1e-9), "contain no sample"),
        (lambda: inputs.audio(1, rate=0), "rate is 0"),
        (lambda: inputs.tokens(0), "length is 0"),
        (lambda: inputs.tokens(5, vocabulary=0), "vocabulary is 0"),
        (lambda: inputs.text("many"), "words is 'many', which is not a whole number"),
        (lambda: inputs.tensor((1, "batch")), "dimension 1 of shape (1, 'batch') is 'batch'"),
        (lambda: inputs.tensor((1, -3)), "dimension 1 of shape (1, -3) is -3"),
        (lambda: inputs.tensor("3"), "shape is '3'"),
        (lambda: inputs.tensor(3, "object"), "'object' is not a supported numeric type"),
        (lambda: inputs.tensor(3, "nonsense"), "'nonsense' is not a supported numeric type"),
        (lambda: inputs.tensor(3, "int8", low=5, high=5), "no int8 lies in [5, 5): pass low < high"),
        (lambda: inputs.tensor(3, "int8", high=1000), "high is 1000"),
        (lambda: inputs.tensor(3, low=1.0, high=float("inf")), "no float32 lies between"),
        (lambda: inputs.tensor(3, "float16", low=0, high=1e6), "no float16 lies between"),
    ],
)
def test_a_wrong_parameter_is_refused_with_the_next_step(call, words: str) -> None:
    with pytest.raises(CaseError) as refused:
        call()

    assert words in str(refused.value)
    assert "pass" in refused.value.next_step or "use" in refused.value.next_step
