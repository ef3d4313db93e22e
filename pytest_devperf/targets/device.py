"""The facts that identify a device, and the fingerprint made of them.

Readings (a clock, a temperature, free space) never enter the fingerprint: they belong to the context.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

HOST = "host"
"""Kind of the machine that runs the tests."""

UNIT_SALTS: Mapping[str, bytes] = {
    HOST: b"pytest-devperf unit 1:",
    "android": b"pytest-devperf phone 1",
    "ios": b"pytest-devperf unit",
}
"""Precede the identifier of a unit of each kind when it is hashed, so that the hash differs from those that other
applications make of the same identifier (machine-id(5) requires an application-specific key). They are not secret:
two workstations must compute the same hash for a phone. With another salt, every known unit becomes a new one."""

UNIT_ROUNDS: Mapping[str, int] = {"android": 200_000, "ios": 100_000}
"""Rounds of PBKDF2, 0.1 s: serial numbers are short and follow patterns, so a plain hash could be searched. A
machine-id is 128 random bits and needs none."""

UNIT_DIGITS = 16
"""Hex digits of the hash that are kept: 64 bits distinguish all units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Facts of a device that do not change between runs; None is *not known*."""

    kind: str
    """`host`, `android`, `sim`, or the word of a plugin."""
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
    """Salted hash of this unit's identifier, never its serial number."""
    by_unit: bool = True
    """Whether another unit of the same model is another device (`--devperf-identity=unit`)."""

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits, equal for equal facts."""
        unit = self.unit if self.by_unit else None
        facts = [self.kind, self.manufacturer, self.model, self.soc, self.cores, self.memory_gib, self.abi, unit]
        return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()[:12]

    @property
    def name(self) -> str:
        """Manufacturer and model, as people write them."""
        words = [word for word in (self.manufacturer, self.model) if word]
        return " ".join(words) or self.soc or self.kind


def hash_unit(kind: str, identifier: str) -> str:
    """Hash the identifier of a unit, so that runs of one unit can be matched and the identifier stays private.

    Args:
        kind: Key of `UNIT_SALTS`.
        identifier: A serial number or the like, in one spelling.
    """
    salt, rounds = UNIT_SALTS[kind], UNIT_ROUNDS.get(kind)
    if rounds is None:
        return hashlib.sha256(salt + identifier.encode()).hexdigest()[:UNIT_DIGITS]
    return hashlib.pbkdf2_hmac("sha256", identifier.encode(), salt, rounds).hex()[:UNIT_DIGITS]
