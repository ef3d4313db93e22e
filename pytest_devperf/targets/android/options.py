"""The options of a session for a phone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneOptions:
    """The options of a session for a phone."""

    identity: str = "unit"
    """`unit` or `model`: whether another unit of the same model is another device."""
    pin_clocks: str = "off"
    """`off`, `auto` (pin the clocks if the phone can) or `on` (refuse to measure unless it can)."""
    affinity: str | None = None
    """CPUs that workloads run on: `big`, `little`, `4-7`; None: the phone chooses."""
    runner: Path | None = None
    """ONNX runner to use instead of the one that was set up."""
    library: Path | None = None
    """Runtime library to use instead of the one that was set up."""
