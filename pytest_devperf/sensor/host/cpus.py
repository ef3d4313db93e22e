"""Read the CPUs that a process may use: its affinity, and the CPU quota of its container."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from pytest_devperf.sensor.context import CpuSet
from pytest_devperf.untrusted import parse_whole

MOST_CPUS = 8192
"""Most CPUs that a Linux kernel supports. Source: Linux arch/x86/Kconfig, NR_CPUS_RANGE_END."""

MOST_LEVELS = 64
"""Nested control groups to read; systemd with containers inside containers has about ten."""

KINDS_APART = 1.15
"""Ratio of clocks from which the fastest cores count as a different kind: the favoured cores of one kind (Turbo Boost
Max, Precision Boost) are up to a tenth faster than the others."""

_SPANS = re.compile(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*")

Core = tuple[str, str, str]
"""Package, core and kind (`big`, `little`, or empty if all are alike)."""


def parse_cpu_list(text: str) -> tuple[int, ...] | None:
    """Parse a list of CPUs in the kernel's format, sorted; return None if it is not one.

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


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Format CPUs as the kernel does.

    >>> format_cpu_list([5, 0, 1, 2])
    '0-2,5'
    """
    ordered = sorted(set(cpus))
    firsts = [*ordered[:1], *(later for earlier, later in pairwise(ordered) if later != earlier + 1)]
    lasts = [*(earlier for earlier, later in pairwise(ordered) if later != earlier + 1), *ordered[-1:]]
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True)
    )


def parse_allowed(text: str) -> tuple[int, ...] | None:
    r"""Parse the affinity from `/proc/PID/status`; return None if it is missing.

    Source:
        proc(5), `Cpus_allowed_list`.

    >>> parse_allowed("Cpus_allowed:\tf\nCpus_allowed_list:\t0-3\n")
    (0, 1, 2, 3)
    """
    found = re.search(r"^Cpus_allowed_list:[ \t]*(\S+)", text, re.MULTILINE)
    return parse_cpu_list(found[1]) if found else None


def parse_cpu_max(text: str) -> float | None:
    """Parse the quota of a control group, version 2, in CPUs; return None if there is none.

    Source:
        Linux Documentation/admin-guide/cgroup-v2.rst, `cpu.max`.

    >>> parse_cpu_max("150000 100000"), parse_cpu_max("max 100000")
    (1.5, None)
    """
    quota, _, period = text.strip().partition(" ")
    return _ratio(quota, period)


def parse_cfs_quota(quota: str, period: str) -> float | None:
    """Parse the quota of a control group, version 1, in CPUs; return None if there is none.

    Source:
        Linux Documentation/scheduler/sched-bwc.rst.

    >>> parse_cfs_quota("50000", "100000"), parse_cfs_quota("-1", "100000")
    (0.5, None)
    """
    return _ratio(quota.strip(), period.strip())


def _ratio(quota: str, period: str) -> float | None:
    quota_us, period_us = parse_whole(quota), parse_whole(period)
    if quota_us is None or period_us is None or quota_us <= 0 or period_us <= 0:
        return None
    return quota_us / period_us


def group_folders(text: str) -> Iterator[str]:
    """List the folders below `/sys/fs/cgroup` that may limit a process, given its `/proc/PID/cgroup`.

    Every ancestor of a process's group limits it too. In a container, the mount may begin at the container's own
    group, which the text does not contain: then only the folder of the mount itself exists.

    Source:
        cgroups(7), `/proc/PID/cgroup`.

    >>> list(group_folders("0::/shop/worker"))
    ['shop/worker', 'shop', '.', 'unified/shop/worker', 'unified/shop', 'unified']
    """
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        names = [] if ".." in path else [name for name in path.split("/") if name]
        group = PurePosixPath(*names[:MOST_LEVELS])
        if number == "0" and not controllers:
            mounts = ["", "unified"]
        elif "cpu" in controllers.split(","):
            mounts = list(dict.fromkeys((controllers, "cpu,cpuacct", "cpu")))
        else:
            continue
        for mount in mounts:
            yield from (str(PurePosixPath(mount) / each) for each in (group, *group.parents) if str(each) != ".")
            yield mount or "."


def describe_layout(cores: Sequence[Core]) -> str:
    """Describe the cores and threads of a set of CPUs; sets with equal descriptions are equally fast.

    Args:
        cores: Package, core and kind of every CPU of the set.

    >>> describe_layout([("0", "0", ""), ("0", "0", ""), ("0", "1", "")])
    '1 core of 2 threads, 1 core'
    """
    packages: dict[str, list[Core]] = {}
    for core in cores:
        packages.setdefault(core[0], []).append(core)
    return " and ".join(sorted(_describe_package(members) for members in packages.values()))


def _describe_package(cores: Iterable[Core]) -> str:
    threads = Counter(cores)
    alike = Counter((kind, count) for (_, _, kind), count in threads.items())
    return ", ".join(_describe_cores(kind, count, many) for (kind, count), many in sorted(alike.items(), reverse=True))


def _describe_cores(kind: str, threads: int, many: int) -> str:
    word = " ".join(word for word in (str(many), kind, "core" if many == 1 else "cores") if word)
    return word if threads == 1 else f"{word} of {threads} threads"


def read_clusters(folder: Path) -> Mapping[str, tuple[int, ...]]:
    """Return the fastest and the slowest CPUs by the highest clock of their policy; empty if all are alike."""
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


class CpuSensor:
    """Reads the CPUs that this process may use from the Linux kernel.

    Args:
        root: Folder that contains `proc` and `sys`.
        read: Reads a small file; returns None if it does not exist.
    """

    def __init__(self, root: Path, read: Callable[[Path], str | None]) -> None:
        self._root = root
        self._read = read
        self._folder = root / "sys/devices/system/cpu"
        groups = root / "sys/fs/cgroup"
        text = self._text(root / "proc/self/cgroup")
        self._groups = [groups / each for each in dict.fromkeys(group_folders(text))]
        self._groups = [each for each in self._groups if each.is_dir()]
        self._layouts: dict[tuple[int, ...], str | None] = {}

    def read(self) -> CpuSet | None:
        """Read them now; return None if they are not known."""
        # Read the file of the calling thread, and do not keep it open: after a fork it would be the parent's.
        status = self._text(self._root / "proc/thread-self/status") or self._text(self._root / "proc/self/status")
        allowed = parse_allowed(status)
        if not allowed:
            return None
        online = parse_cpu_list((self._read(self._folder / "online") or "").strip())
        cpus = tuple(cpu for cpu in allowed if online is None or cpu in online) or allowed
        if cpus not in self._layouts:
            self._layouts[cpus] = self._layout(cpus)
        return CpuSet(
            cpus=format_cpu_list(cpus),
            usable=min([float(len(cpus)), *self._quotas()]),
            layout=self._layouts[cpus],
        )

    def _quotas(self) -> Iterator[float]:
        for folder in self._groups:
            version_1 = (self._read(folder / f"cpu.cfs_{word}_us") or "" for word in ("quota", "period"))
            for quota in (parse_cpu_max(self._read(folder / "cpu.max") or ""), parse_cfs_quota(*version_1)):
                if quota is not None:
                    yield quota

    def _layout(self, cpus: Sequence[int]) -> str | None:
        clusters = read_clusters(self._folder / "cpufreq")
        kinds = {cpu: kind for kind, members in clusters.items() for cpu in members}
        cores = [
            (
                self._text(self._folder / f"cpu{cpu}/topology/physical_package_id").strip(),
                self._text(self._folder / f"cpu{cpu}/topology/core_id").strip(),
                kinds.get(cpu, ""),
            )
            for cpu in cpus
        ]
        return describe_layout(cores) if all(core for _, core, _ in cores) else None

    def _text(self, path: Path) -> str:
        try:
            return path.read_text(errors="replace")
        except OSError:
            return ""


def read_bound_cpus() -> CpuSet | None:
    """Read this process's affinity with psutil, if psutil supports it (Windows); quotas are not known there."""
    import psutil

    process = psutil.Process()
    if not hasattr(process, "cpu_affinity"):
        return None
    cpus = process.cpu_affinity()
    return CpuSet(cpus=format_cpu_list(cpus), usable=float(len(cpus)))
