"""Which device: facts that stay, and the fingerprint made of them.

Readings (a clock, a temperature, a free size) never enter the fingerprint: they belong to the context.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Facts of a device that do not change between runs; None is *not known*."""

    kind: str
    """`host`, `android`, `sim`, or a plugin's own word."""
    manufacturer: str | None = None
    model: str | None = None
    soc: str | None = None
    """Processor: the model name of a CPU or the name of a system on chip."""
    cores: int | None = None
    memory_gib: int | None = None
    """Memory rounded up to whole GiB: the kernel's share differs between its versions."""
    abi: str | None = None
    """`x86_64`, `arm64-v8a`, …"""
    unit: str | None = None
    """Salted hash of the single unit, never its serial number."""
    by_unit: bool = True
    """Whether another unit of the same model is another device (`--devperf-identity=unit`)."""

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that are equal for equal facts."""
        unit = self.unit if self.by_unit else None
        facts = [self.kind, self.manufacturer, self.model, self.soc, self.cores, self.memory_gib, self.abi, unit]
        return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """Manufacturer and model, as people say them."""
        words = [word for word in (self.manufacturer, self.model) if word]
        return " ".join(words) or self.soc or self.kind
