"""A process is kept on the CPUs that were named."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.sensor.host.cpus import read_clusters
from pytest_devperf.targets.host.affinity import pin_to_cpus

pytestmark = pytest.mark.skipif(
    not hasattr(psutil.Process(), "cpu_affinity"), reason="this system cannot bind a process"
)


def policies(folder: Path, **khz: int) -> Path:
    for number, (cpus, highest) in enumerate(khz.items()):
        policy = folder / f"policy{number}"
        policy.mkdir()
        (policy / "cpuinfo_max_freq").write_text(f"{highest}\n")
        (policy / "related_cpus").write_text(cpus.strip("_").replace("_", " "))
    return folder


def test_a_process_is_pinned_to_a_cpu_and_released_again() -> None:
    before = psutil.Process().cpu_affinity()

    undo = pin_to_cpus(str(before[0]))

    held = psutil.Process().cpu_affinity()
    undo()
    assert held == before[:1]
    assert psutil.Process().cpu_affinity() == before


@pytest.mark.parametrize(
    "spec", ["9999", "fast", "3-", "5-3", "0-30000000", "0-99999999999999999999", "0," * 9000 + "0"]
)
def test_cpus_that_are_not_there_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="--devperf-affinity"):
        pin_to_cpus(spec)


def test_big_and_little_are_distinguished_by_their_highest_clock(tmp_path: Path) -> None:
    assert read_clusters(policies(tmp_path, _0_1=1_800_000, _2_3=3_200_000)) == {"big": (2, 3), "little": (0, 1)}


def test_favoured_cores_are_not_a_separate_kind(tmp_path: Path) -> None:
    assert read_clusters(policies(tmp_path, _0_1=5_000_000, _2_3=5_400_000)) == {}


def test_a_machine_without_clocks_has_no_kinds(tmp_path: Path) -> None:
    assert read_clusters(tmp_path) == {}
