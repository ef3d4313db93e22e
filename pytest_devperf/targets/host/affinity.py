"""The CPUs of this machine that the measuring process runs on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.sensor.host.cpus import read_clusters
from pytest_devperf.targets.cpus import parse_cpus

CPUFREQ = Path("/sys/devices/system/cpu/cpufreq")
"""Source: Linux Documentation/admin-guide/pm/cpufreq.rst."""


def pin_to_cpus(spec: str) -> Callable[[], None]:
    """Pin this process, and all processes it starts from now on, to some CPUs.

    Args:
        spec: `big`, `little`, or a list such as `0-3,6`.

    Returns:
        A function that undoes it.

    Raises:
        UsageError: This machine has no such CPUs, forbids them, or cannot bind a process.
    """
    import psutil

    process = psutil.Process()
    if not hasattr(process, "cpu_affinity"):
        raise UsageError("--devperf-affinity: this system cannot pin a process to CPUs", "omit the option")
    cores = psutil.cpu_count() or 1
    cpus = parse_cpus(spec, read_clusters(CPUFREQ), cores, device="this machine")
    before = process.cpu_affinity()
    try:
        process.cpu_affinity(list(cpus))
    except (OSError, ValueError, psutil.Error) as error:
        raise UsageError(
            f"--devperf-affinity={spec}: this process may only run on {', '.join(map(str, before))}",
            "choose among them",
        ) from error
    return lambda: process.cpu_affinity(before)
