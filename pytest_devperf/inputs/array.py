"""Arrays of any numeric type, uniform between two bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_devperf.errors import CaseError
from pytest_devperf.inputs.bits import Bits, require_numpy, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

DOMAIN = 7
"""Seed domain of arrays."""

MOST_ELEMENTS = 1 << 32
"""Most elements: 16 GiB of float32; a larger number is a mistake."""

FRACTION_BITS = {2: 11, 4: 24, 8: 53}
"""Bits of a fraction that a float of this many bytes represents exactly (IEEE 754 precision)."""

PIXEL_HIGH = 256
"""Default exclusive bound of uint8, mostly used for pixels or quantised activations."""

INDEX_HIGH = 128
"""Default exclusive bound of other integers: most are indices into a table, and real tables are longer."""


def tensor(
    shape: int | Iterable[int],
    dtype: DTypeLike = "float32",
    *,
    seed: int = 0,
    low: float | None = None,
    high: float | None = None,
) -> NDArray[Any]:
    """Fill an array with uniform values.

    Args:
        shape: Sizes of all dimensions; `()` gives one value.
        dtype: Any boolean, integer, float or complex type of NumPy.
        seed: A different seed gives different values.
        low: Smallest value; None: -1 for floats, 0 for integers.
        high: Largest value for floats, exclusive bound for integers; None: 1 for floats, 256 for uint8,
            128 for other integers. Both parts of a complex number are between the bounds.

    Returns:
        Array of that shape and type.

    Raises:
        CaseError: A size is unknown or negative, the type isn't numeric, or the bounds don't fit it.
    """
    require_numpy()
    import numpy as np

    sizes = _sizes(shape)
    kind = _numeric(dtype)
    bits, count = Bits(DOMAIN, seed), math.prod(sizes)
    if kind.kind == "b":
        return bits.draw(count, 1).astype(kind).reshape(sizes)
    if kind.kind in "iu":
        return _integers(bits, count, kind, low, high).reshape(sizes)
    if kind.kind == "f":
        return _floats(bits, count, kind, low, high).reshape(sizes)
    part = np.dtype(f"f{kind.itemsize // 2}")
    both = _floats(bits, 2 * count, part, low, high).reshape(*sizes, 2)
    values = np.empty(sizes, dtype=kind)
    values.real, values.imag = both[..., 0], both[..., 1]
    return values


def _sizes(shape: int | Iterable[int]) -> tuple[int, ...]:
    """Check every size of a shape."""
    given: object = shape
    if isinstance(given, str) or not isinstance(given, (int, Iterable)):
        raise CaseError(f"devperf.inputs.tensor: shape is {shape!r}", "pass an int or a sequence of ints")
    sizes = tuple(
        whole(f"dimension {axis} of shape {shape}", size, least=0, most=MOST_ELEMENTS)
        for axis, size in enumerate((shape,) if isinstance(shape, int) else shape)
    )
    whole(f"the element count of shape {shape}", math.prod(sizes), least=0, most=MOST_ELEMENTS)
    return sizes


def _numeric(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the NumPy type, in this machine's byte order, if it is numeric and IEEE 754."""
    import numpy as np

    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    # The format of a long double depends on the machine, so its values cannot be reproducible.
    if kind.kind not in "biufc" or kind.itemsize > (16 if kind.kind == "c" else 8):
        raise CaseError(
            f"devperf.inputs.tensor: {dtype!r} is not a supported numeric type",
            "use bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 or complex128",
        )
    return kind


def _integers(bits: Bits, count: int, kind: np.dtype[Any], low: float | None, high: float | None) -> NDArray[Any]:
    """Draw integers of a type in [low, high): (count,)."""
    import numpy as np

    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    start = 0 if low is None else whole("low", low, least=least, most=most)
    default = PIXEL_HIGH if kind == np.uint8 else INDEX_HIGH
    end = max(start + 1, min(default, most + 1)) if high is None else whole("high", high, least=least, most=most + 1)
    if end <= start:
        raise CaseError(f"devperf.inputs.tensor: no {kind} lies in [{start}, {end})", "pass low < high")
    words, span = bits.words(count), end - start
    if span < 1 << 64:
        words %= np.uint64(span)
    # Unsigned words wrap around, which is two's complement addition for the signed types.
    words += np.uint64(start % (1 << 64))
    return words.astype(np.uint64).view(np.int64).astype(kind)


def _floats(bits: Bits, count: int, kind: np.dtype[Any], low: float | None, high: float | None) -> NDArray[Any]:
    """Draw floats of a type in [low, high], from as many bits as its precision: (count,)."""
    import numpy as np

    start, end = -1.0 if low is None else float(low), 1.0 if high is None else float(high)
    largest = float(np.finfo(kind).max)
    if not (-largest <= start < end <= largest):
        raise CaseError(f"devperf.inputs.tensor: no {kind} lies between {start} and {end}", "pass finite low < high")
    width = FRACTION_BITS[kind.itemsize]
    # Each step rounds once by IEEE 754, so all machines agree; two ufuncs cannot be fused into one rounding.
    fraction = bits.draw(count, width).astype(np.float64) / float(1 << width)
    return (start * (1.0 - fraction) + end * fraction).astype(kind)
