"""Generate sound: bursts like the syllables of a voice, separated by pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_devperf.errors import CaseError
from pytest_devperf.inputs.bits import Bits, require_numpy, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DOMAIN = 4
"""Seed domain of sound."""

LONGEST_S = 3600
"""An hour: 230 MB at 16 kHz; a longer duration is a mistake."""

LOWEST_RATE_HZ, HIGHEST_RATE_HZ = 4000, 192_000
"""Telephone speech needs more than 4 kHz; no converter samples faster than 192 kHz."""

FULL_SCALE = 1 << 15
"""Samples are 16-bit integers divided by this power of two, so the division is exact."""

HALF_TURN = 1 << 12
"""Steps of half a period in the sine; 0.02 degrees each, far below the error of the approximation, 0.16 %."""

PHASE_BITS = 32
"""Bits of a phase within a period; frequencies are then exact to a millionth of a hertz."""

NOISE_BITS = 5
"""Bits of the noise beneath the voice: 32 of 32768, -60 dB, the noise floor of a recording in a quiet room."""

VOWELS_HZ = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
"""First three formants of five vowels.

Source:
    Peterson and Barney, "Control methods used in a study of the vowels", 1952, table II (men: a, i, u, e, o).
"""

FORMANT_WIDTH_HZ = 90
"""Half width of a formant's resonance, typical of speech (50 to 130 Hz)."""

HIGHEST_VOICE_HZ = 3600
"""Harmonics above this are left out: a voice has little energy there, and every sample rate from 8 kHz covers it."""


def audio(seconds: float, *, rate: int = 16_000, seed: int = 0) -> NDArray[np.float32]:
    """Generate syllables: voiced bursts of 0.12 to 0.32 s with formants, pauses, and a little noise.

    Args:
        seconds: Duration, rounded down to a whole number of samples.
        rate: Samples per second.
        seed: A different seed gives different syllables.

    Returns:
        (seconds * rate,) float32 in [-1, 1).

    Raises:
        CaseError: A parameter is out of bounds.
    """
    require_numpy()
    import numpy as np

    rate = whole("rate", rate, least=LOWEST_RATE_HZ, most=HIGHEST_RATE_HZ)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= LONGEST_S:
        raise CaseError(f"devperf.inputs.audio: seconds is {seconds!r}", f"pass a number above 0, up to {LONGEST_S}")
    count = int(seconds * rate)
    if count == 0:
        raise CaseError(
            f"devperf.inputs.audio: {seconds} s at {rate} Hz contain no sample", f"pass at least {1 / rate} s"
        )
    bits = Bits(DOMAIN, seed)
    wave = np.zeros(count, dtype=np.int64)
    at = 0
    while at < count:
        length = rate * bits.one(120, 320) // 1000
        syllable = _syllable(bits, length, rate)[: count - at]
        wave[at : at + length] = syllable
        at += length + rate * bits.one(20, 180) // 1000
    wave += bits.draw(count, NOISE_BITS + 1) - (1 << NOISE_BITS)
    clipped = np.clip(wave, -FULL_SCALE, FULL_SCALE - 1)
    samples: NDArray[np.float32] = clipped.astype(np.float32) / np.float32(FULL_SCALE)
    return samples


def _syllable(bits: Bits, length: int, rate: int) -> NDArray[np.int64]:
    """Generate one vowel: harmonics of a gliding pitch, weighted by formants, faded in and out: (length,)."""
    import numpy as np

    formants_hz = VOWELS_HZ[bits.one(0, len(VOWELS_HZ))]
    pitch_hz, glide_percent = bits.one(95, 220), bits.one(-20, 10)
    loudness = bits.one(9000, 20_000)
    time = np.arange(length, dtype=np.int64)
    # The pitch changes linearly; its cumulative sum is the phase.
    step = (pitch_hz << PHASE_BITS) // rate
    phase = np.cumsum(step + step * glide_percent * time // (100 * length))
    highest_hz = min(HIGHEST_VOICE_HZ, rate // 2 - 1)
    weights = [_weight(number * pitch_hz, formants_hz) for number in range(1, highest_hz // pitch_hz + 1)]
    wave = np.zeros(length, dtype=np.int64)
    for number, weight in enumerate(weights, start=1):
        wave += _sine(phase * number) * weight >> 12
    # Inverted parabola: 0 at both ends, 1 in the middle.
    envelope = (4 * FULL_SCALE * time * (length - time)) // (length * length)
    peak = max(1, int(abs(wave).max()))
    return (wave * loudness // peak) * envelope // FULL_SCALE


def _weight(frequency_hz: int, formants_hz: tuple[int, ...]) -> int:
    """Return the weight of a harmonic from its distance to the formants, minus 6 dB per formant; 4096 is one."""
    total = 0
    for number, formant_hz in enumerate(formants_hz):
        distance_hz = frequency_hz - formant_hz
        total += ((1 << 12) >> number) * FORMANT_WIDTH_HZ**2 // (FORMANT_WIDTH_HZ**2 + distance_hz**2)
    return total


def _sine(phase: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sine of a phase (2**32 is a full turn) as an integer; 32767 is one.

    Source:
        Bhaskara I's rational approximation, Mahabhaskariya (about 629); its error is below 0.17 %,
        and integer arithmetic gives the same result everywhere.
    """
    import numpy as np

    step = (phase >> (PHASE_BITS - 13)) & (2 * HALF_TURN - 1)
    half = step & (HALF_TURN - 1)
    product = half * (HALF_TURN - half)
    height = (FULL_SCALE - 1) * 16 * product // (5 * HALF_TURN * HALF_TURN - 4 * product)
    sine: NDArray[np.int64] = np.where(step < HALF_TURN, height, -height)
    return sine
