"""Draw random bits that are the same on every machine and NumPy version, and check parameters."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from pytest_devperf.errors import CaseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = 1
"""Raised whenever a function of this package returns other values for the same parameters; part of every seed."""

LARGEST_SEED = (1 << 63) - 1
"""Seeds fit a signed 64-bit integer, so that they can be stored and passed everywhere."""

WORD_BITS = 64
"""Bits of one raw word of the generator."""

BELOW_BITS = 31
"""Bits drawn for a bounded integer: the product with a bound of 32 bits fits 63 bits."""


class Bits:
    """A stream of uniform integers.

    Args:
        domain: Number of the kind of input, so that different kinds get unrelated streams from the same seed.
        seed: The caller's seed.

    Source:
        PCG64 seeded through SeedSequence: NumPy promises both streams forever
        (NEP 19, "bit generators"); the methods of `Generator` have no such guarantee and are not used.
    """

    __slots__ = ("_source",)

    def __init__(self, domain: int, seed: int) -> None:
        """Seed the stream; equal arguments give equal streams."""
        require_numpy()
        from numpy.random import PCG64, SeedSequence

        self._source = PCG64(SeedSequence((VERSION, domain, whole("seed", seed, least=0, most=LARGEST_SEED))))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw raw 64-bit words: (count,)."""
        raw: NDArray[np.uint64] = self._source.random_raw(count)
        return raw

    def draw(self, count: int, bits: int) -> NDArray[np.int64]:
        """Draw uniform integers of `bits` bits, 63 at most: (count,)."""
        import numpy as np

        drawn: NDArray[np.int64] = (self.words(count) >> np.uint64(WORD_BITS - bits)).astype(np.int64)
        return drawn

    def below(self, count: int, bound: int) -> NDArray[np.int64]:
        """Draw integers in [0, bound), bound at most 2**32: (count,)."""
        drawn: NDArray[np.int64] = (self.draw(count, BELOW_BITS) * bound) >> BELOW_BITS
        return drawn

    def one(self, low: int, high: int) -> int:
        """Draw one integer in [low, high)."""
        return low + int(self.below(1, high - low)[0])


def require_numpy() -> None:
    """Refuse to draw without NumPy, which only inputs and models need.

    Raises:
        CaseError: It is not installed.
    """
    try:
        import numpy as np  # noqa: F401 - callers import it themselves
    except ImportError:
        raise CaseError("devperf.inputs needs numpy", "pip install 'pytest-devperf[inputs]'") from None


def whole(name: str, value: object, *, least: int, most: int) -> int:
    """Convert a parameter to an int and check its bounds.

    Raises:
        CaseError: It is not a whole number, or out of bounds.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type] # the refusal of other types is the point
    except TypeError:
        raise CaseError(
            f"devperf.inputs: {name} is {value!r}, which is not a whole number", f"pass an int from {least} to {most}"
        ) from None
    if isinstance(value, bool) or not least <= number <= most:
        raise CaseError(f"devperf.inputs: {name} is {value!r}", f"pass an int from {least} to {most}")
    return number
