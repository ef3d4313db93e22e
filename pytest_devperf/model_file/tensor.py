"""The description of one input or output in a model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

Size = Union[int, str, None]
"""A fixed size, the name of a symbolic one, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """One input or output of a model."""

    name: str
    dtype: str
    """NumPy's name of the element type, `string`, or a word for anything but a plain tensor (`sequence`)."""
    shape: tuple[Size, ...] | None
    """Sizes by dimension; None if not even the rank is known."""
