"""CPUs that a workload may run on, by number or by kind."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_devperf.errors import UsageError


def parse_cpus(
    spec: str, clusters: Mapping[str, tuple[int, ...]], cores: int | None, *, device: str = "this phone"
) -> tuple[int, ...]:
    """Read `big`, `little`, or a list such as `0-3,6`.

    Args:
        spec: What was asked for.
        clusters: CPUs of `big` and `little`; empty where the device has but one kind.
        cores: How many CPUs there are; None where that is not known.
        device: What errors call it.

    Raises:
        UsageError: It is neither, or the device lacks such a CPU.

    >>> parse_cpus("0-2,5", {}, 8)
    (0, 1, 2, 5)
    """
    word = spec.strip().lower()
    if word in {"big", "little"}:
        if word not in clusters:
            raise UsageError(f"--devperf-affinity={spec}: {device} does not tell its clusters", "name CPUs: 4-7")
        return clusters[word]
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", word):
        raise UsageError(f"--devperf-affinity: {spec!r} is no list of CPUs", "say big, little, or 4-7")
    cpus: set[int] = set()
    for part in word.split(","):
        low, _, high = part.partition("-")
        cpus.update(range(int(low), int(high or low) + 1))
    if not cpus or (cores is not None and max(cpus) >= cores):
        raise UsageError(f"--devperf-affinity={spec}: {device} has CPUs 0 to {(cores or 1) - 1}", "choose among them")
    return tuple(sorted(cpus))
