"""The CPUs that a process may use, on synthetic trees of kernel files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.sensor.context import Context, CpuSet
from pytest_devperf.sensor.host.cpus import (
    MOST_LEVELS,
    CpuSensor,
    describe_layout,
    format_cpu_list,
    group_folders,
    parse_allowed,
    parse_cfs_quota,
    parse_cpu_list,
    parse_cpu_max,
)
from pytest_devperf.sensor.host.linux import LinuxSensors
from pytest_devperf.sensor.summary import summarise

CPU = "sys/devices/system/cpu"
SMT = {
    "proc/self/status": "Name:\tpython\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n",
    f"{CPU}/online": "0-3\n",
    **{f"{CPU}/cpu{cpu}/topology/physical_package_id": "0\n" for cpu in range(4)},
    **{f"{CPU}/cpu{cpu}/topology/core_id": f"{cpu // 2}\n" for cpu in range(4)},
}
"""Two cores of two threads each."""

HYBRID = {
    **SMT,
    f"{CPU}/cpu2/topology/core_id": "2\n",
    **{f"{CPU}/cpufreq/policy{cpu}/related_cpus": f"{cpu}\n" for cpu in range(4)},
    **{f"{CPU}/cpufreq/policy{cpu}/cpuinfo_max_freq": "5000000\n" if cpu < 2 else "3000000\n" for cpu in range(4)},
}
"""One fast core of two threads, two slow ones."""


def read(root: Path, files: Mapping[str, str]) -> CpuSet | None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return LinuxSensors(root).look(quick=False).cpu_set


def allowed(cpus: str) -> dict[str, str]:
    return {"proc/self/status": f"Cpus_allowed_list:\t{cpus}\n"}


def test_all_cpus_are_usable_without_limits(tmp_path: Path) -> None:
    assert read(tmp_path, SMT) == CpuSet(cpus="0-3", usable=4.0, layout="2 cores of 2 threads")


def test_the_calling_thread_is_read_instead_of_the_main_one(tmp_path: Path) -> None:
    files = {**SMT, "proc/thread-self/status": "Cpus_allowed_list:\t3\n"}
    assert read(tmp_path, files) == CpuSet(cpus="3", usable=1.0, layout="1 core")


def test_two_threads_of_one_core_are_not_two_cores(tmp_path: Path) -> None:
    siblings = read(tmp_path, {**SMT, **allowed("0-1")})
    apart = read(tmp_path, {**SMT, **allowed("0,2")})
    assert siblings is not None
    assert apart is not None
    assert (siblings.usable, siblings.layout) == (2.0, "1 core of 2 threads")
    assert (apart.usable, apart.layout) == (2.0, "2 cores")


def test_cores_of_another_kind_are_another_layout(tmp_path: Path) -> None:
    layouts = [read(tmp_path, {**HYBRID, **allowed(cpus)}) for cpus in ("0-3", "0", "2", "3")]
    assert [each and each.layout for each in layouts] == [
        "2 little cores, 1 big core of 2 threads",
        "1 big core",
        "1 little core",
        "1 little core",
    ]


def test_cpus_of_two_packages_are_not_cpus_of_one() -> None:
    assert describe_layout([("0", "0", ""), ("1", "0", "")]) == "1 core and 1 core"
    assert describe_layout([("0", "0", ""), ("0", "1", "")]) == "2 cores"


def test_cpus_that_are_offline_are_not_usable(tmp_path: Path) -> None:
    found = read(tmp_path, {**SMT, f"{CPU}/online": "0,2\n"})
    assert found == CpuSet(cpus="0,2", usable=2.0, layout="2 cores")


@pytest.mark.parametrize("online", ["", "9\n", "nonsense\n"])
def test_an_unreadable_list_of_cpus_keeps_the_allowed_ones(tmp_path: Path, online: str) -> None:
    found = read(tmp_path, {**SMT, f"{CPU}/online": online})
    assert found is not None
    assert found.cpus == "0-3"


def test_without_a_topology_the_layout_is_not_known(tmp_path: Path) -> None:
    assert read(tmp_path, allowed("0-1")) == CpuSet(cpus="0-1", usable=2.0)


@pytest.mark.parametrize("status", ["", "Cpus_allowed_list:\n", "Cpus_allowed_list:\tall\n"])
def test_unknown_allowed_cpus_are_not_known(tmp_path: Path, status: str) -> None:
    assert read(tmp_path, {"proc/self/status": status}) is None


QUOTAS = {
    "version 2, in a container": ("0::/", {"sys/fs/cgroup/cpu.max": "150000 100000\n"}),
    "version 2, by the group of a service": (
        "0::/system.slice/shop.service",
        {"sys/fs/cgroup/system.slice/shop.service/cpu.max": "150000 100000\n"},
    ),
    "version 2, by a group above": (
        "0::/pod/shop",
        {
            "sys/fs/cgroup/pod/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/pod/shop/cpu.max": "max 100000\n",
        },
    ),
    "version 2, by the narrowest of several groups": (
        "0::/pod/shop",
        {
            "sys/fs/cgroup/pod/cpu.max": "300000 100000\n",
            "sys/fs/cgroup/pod/shop/cpu.max": "15000 10000\n",
        },
    ),
    "version 2, seen from another namespace": ("0::/../../shop", {"sys/fs/cgroup/cpu.max": "150000 100000\n"}),
    "version 2, together with version 1": (
        "4:memory:/\n0::/shop",
        {"sys/fs/cgroup/unified/shop/cpu.max": "150000 100000\n"},
    ),
    "version 1, in a container": (
        "4:cpu,cpuacct:/docker/1f2e\n0::/",
        {
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    ),
    "version 1, with a separate mount of the controller": (
        "4:cpu:/shop",
        {
            "sys/fs/cgroup/cpu/shop/cpu.cfs_quota_us": "150000\n",
            "sys/fs/cgroup/cpu/shop/cpu.cfs_period_us": "100000\n",
        },
    ),
}


@pytest.mark.parametrize("quota", QUOTAS.values(), ids=QUOTAS)
def test_a_quota_limits_the_usable_cpus(tmp_path: Path, quota: tuple[str, Mapping[str, str]]) -> None:
    group, files = quota
    found = read(tmp_path, {**SMT, "proc/self/cgroup": f"{group}\n", **files})
    assert found == CpuSet(cpus="0-3", usable=1.5, layout="2 cores of 2 threads")


@pytest.mark.parametrize("maximum", ["max 100000\n", "900000 100000\n", "0 0\n", "1.5 1\n", "", "9" * 30 + " 1\n"])
def test_a_quota_that_limits_nothing_leaves_all_cpus(tmp_path: Path, maximum: str) -> None:
    found = read(tmp_path, {**SMT, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": maximum})
    assert found is not None
    assert found.usable == 4.0


def test_a_quota_is_read_anew_in_every_look(tmp_path: Path) -> None:
    read(tmp_path, {**SMT, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"})
    sensor = CpuSensor(tmp_path, lambda path: path.read_text() if path.exists() else None)
    before = sensor.read()
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("50000 100000\n")
    after = sensor.read()
    assert before is not None
    assert after is not None
    assert (before.usable, after.usable) == (4.0, 0.5)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_list_of_cpus_is_read_as_it_was_written(cpus: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


@given(st.text())
def test_readers_take_any_text(text: str) -> None:
    parse_allowed(f"Cpus_allowed_list:\t{text}")
    list(group_folders(text))
    for quota in (parse_cpu_max(text), parse_cfs_quota(text, text)):
        assert quota is None or quota > 0


def test_groups_in_each_other_are_read_to_a_depth_that_no_system_makes() -> None:
    folders = list(group_folders("0::" + "/a" * 20_000))
    assert len(folders) == 2 * (MOST_LEVELS + 1)
    assert folders[0] == "/".join("a" * MOST_LEVELS)


def test_a_run_is_known_by_the_least_that_it_could_use() -> None:
    wide, narrow = CpuSet(cpus="0-3", usable=4.0), CpuSet(cpus="0-3", usable=0.5)
    looks = [Context(at_ns=0, cpu_set=each) for each in (wide, None, narrow, wide)]
    found = summarise(looks, prerun=None)
    assert found.cpu_set == narrow
    assert found.notes == ("the process could not use the same CPUs all the time: 4 CPUs (0-3), 0.5 CPUs (of 0-3)",)
