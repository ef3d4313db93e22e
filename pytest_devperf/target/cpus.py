"""CPUs that a workload may run on, by number or by kind."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_devperf.errors import UsageError
from pytest_devperf.untrusted import excerpt

MOST_CPUS = 8192
"""CPUs that a Linux kernel can be built for. Source: Linux arch/x86/Kconfig, NR_CPUS_RANGE_END."""

_SPANS = re.compile(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*")


def parse_cpu_list(text: str) -> tuple[int, ...] | None:
    """Read a list of CPUs as the kernel writes it, sorted; None if it is none.

    Source:
        Linux Documentation/admin-guide/kernel-parameters.rst, "cpu lists".

    >>> parse_cpu_list("0-2,5"), parse_cpu_list("0-30000000"), parse_cpu_list("3-1")
    ((0, 1, 2, 5), None, None)
    """
    if len(text) > MOST_CPUS or not _SPANS.fullmatch(text):
        return None
    cpus: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        span = range(int(low), int(high or low) + 1)
        if not span or span[-1] >= MOST_CPUS:
            return None
        cpus.update(span)
    return tuple(sorted(cpus))


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
    cpus = parse_cpu_list(word)
    if cpus is None:
        raise UsageError(
            f"--devperf-affinity: {excerpt(spec)!r} is no list of CPUs below {MOST_CPUS}", "say big, little, or 4-7"
        )
    if cores is not None and cpus[-1] >= cores:
        raise UsageError(f"--devperf-affinity={spec}: {device} has CPUs 0 to {cores - 1}", "choose among them")
    return cpus
