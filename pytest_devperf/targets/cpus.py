"""CPUs that a workload may run on, by number or by kind."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_devperf.errors import UsageError
from pytest_devperf.sensor.host.cpus import MOST_CPUS, parse_cpu_list
from pytest_devperf.untrusted import excerpt


def parse_cpus(
    spec: str, clusters: Mapping[str, tuple[int, ...]], cores: int | None, *, device: str = "this phone"
) -> tuple[int, ...]:
    """Parse `big`, `little`, or a list such as `0-3,6`.

    Args:
        spec: The value of `--devperf-affinity`.
        clusters: CPUs of `big` and `little`; empty if all CPUs of the device are of one kind.
        cores: Number of CPUs; None if it is not known.
        device: Name of the device for error messages.

    Raises:
        UsageError: The spec is neither, or the device lacks such a CPU.

    >>> parse_cpus("0-2,5", {}, 8)
    (0, 1, 2, 5)
    """
    word = spec.strip().lower()
    if word in {"big", "little"}:
        if word not in clusters:
            raise UsageError(f"--devperf-affinity={spec}: {device} does not show its clusters", "list CPUs: 4-7")
        return clusters[word]
    cpus = parse_cpu_list(word)
    if cpus is None:
        raise UsageError(
            f"--devperf-affinity: {excerpt(spec)!r} is no list of CPUs below {MOST_CPUS}", "use big, little, or 4-7"
        )
    if cores is not None and cpus[-1] >= cores:
        raise UsageError(f"--devperf-affinity={spec}: {device} has CPUs 0 to {cores - 1}", "choose among them")
    return cpus


def format_mask(cpus: tuple[int, ...]) -> str:
    """Format CPUs as the hexadecimal mask of `taskset`.

    >>> format_mask((4, 5, 6, 7))
    'f0'
    """
    return format(sum(1 << cpu for cpu in cpus), "x")
