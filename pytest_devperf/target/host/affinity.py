"""Which CPUs of this machine the measuring process runs on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_devperf.errors import UsageError
from pytest_devperf.target.cpus import parse_cpus

CPUFREQ = Path("/sys/devices/system/cpu/cpufreq")
"""Source: Linux Documentation/admin-guide/pm/cpufreq.rst."""

KINDS_APART = 1.15
"""How much faster the fastest cores must be to be another kind: the favoured cores of one kind (Turbo Boost Max,
Precision Boost) are up to a tenth faster than the others."""


def hold_to_cpus(spec: str) -> Callable[[], None]:
    """Keep this process, and all it starts from now on, on some CPUs.

    Args:
        spec: `big`, `little`, or a list such as `0-3,6`.

    Returns:
        What undoes it.

    Raises:
        UsageError: This machine has no such CPUs, forbids them, or cannot bind a process.
    """
    import psutil

    process = psutil.Process()
    if not hasattr(process, "cpu_affinity"):
        raise UsageError("--devperf-affinity: this system cannot keep a process on some CPUs", "leave it out")
    cores = psutil.cpu_count() or 1
    cpus = parse_cpus(spec, read_clusters(CPUFREQ), cores, device="this machine")
    before = process.cpu_affinity()
    try:
        process.cpu_affinity(list(cpus))
    except (OSError, ValueError, psutil.Error) as error:
        raise UsageError(
            f"--devperf-affinity={spec}: this process may run on {', '.join(map(str, before))} alone",
            "choose among them",
        ) from error
    return lambda: process.cpu_affinity(before)


def read_clusters(folder: Path) -> Mapping[str, tuple[int, ...]]:
    """Tell the fastest and the slowest CPUs by the highest clock of their policy; nothing where all are alike."""
    speeds: dict[int, int] = {}
    for policy in folder.glob("policy*"):
        with contextlib.suppress(OSError, ValueError):
            khz = int((policy / "cpuinfo_max_freq").read_text())
            speeds.update(dict.fromkeys(map(int, (policy / "related_cpus").read_text().split()), khz))
    if not speeds or max(speeds.values()) < KINDS_APART * min(speeds.values()):
        return {}
    middle = (max(speeds.values()) + min(speeds.values())) / 2
    big = tuple(sorted(cpu for cpu, khz in speeds.items() if khz >= middle))
    return {"big": big, "little": tuple(sorted(speeds.keys() - set(big)))}
