"""Which machine this is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_devperf.sensor.proc import whole_gib
from pytest_devperf.targets.device import hash_unit
from pytest_devperf.targets.host.identity import linux_names, parse_cpuinfo, parse_dmi, read_device, unit_of_machine


def test_the_same_machine_has_the_same_fingerprint_each_time() -> None:
    assert read_device() == read_device()
    assert read_device().fingerprint == read_device().fingerprint


def test_this_machine_is_a_host_with_cores_and_memory() -> None:
    device = read_device()

    assert device.kind == "host"
    assert device.cores == os.cpu_count()
    assert device.memory_gib is not None
    assert device.memory_gib >= 1
    assert device.abi


def test_a_unit_is_distinguished_only_on_request() -> None:
    assert read_device().unit is None
    unit = read_device("unit").unit
    assert unit is None or len(unit) == 16


@pytest.mark.parametrize(
    ("kind", "identifier", "unit"),
    [
        ("host", "0123456789abcdef0123456789abcdef", "c3b85e204ace5857"),
        ("android", "r58m123abc", "449806993e434016"),
        ("ios", "00008110-000A11111111801E", "ec415dc0fb35798f"),
    ],
)
def test_a_unit_keeps_the_hash_that_is_stored(kind: str, identifier: str, unit: str) -> None:
    assert hash_unit(kind, identifier) == unit


def test_the_machine_id_cannot_be_read_from_the_unit() -> None:
    machine_id = "0123456789abcdef0123456789abcdef"

    assert unit_of_machine(machine_id) == unit_of_machine(machine_id.upper() + "\n")
    assert unit_of_machine(machine_id) != unit_of_machine("f" + machine_id[1:])
    assert machine_id[:8] not in unit_of_machine(machine_id)


def test_a_board_with_an_identity_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "sys/class/dmi/id").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys/class/dmi/id/sys_vendor").write_text("Some  Maker\n")
    (tmp_path / "sys/class/dmi/id/product_name").write_text("Book 14\n")
    (tmp_path / "proc/cpuinfo").write_text("processor\t: 0\nmodel name\t: Fast  CPU @ 2.00GHz\n")

    assert linux_names(tmp_path) == ("Some Maker", "Book 14", "Fast CPU @ 2.00GHz")


def test_a_board_with_a_device_tree_is_named(tmp_path: Path) -> None:
    (tmp_path / "proc/device-tree").mkdir(parents=True)
    (tmp_path / "proc/device-tree/model").write_bytes(b"Small Board 4 Rev 1.2\0")

    assert linux_names(tmp_path) == (None, "Small Board 4 Rev 1.2", None)


@pytest.mark.parametrize(
    "text", ["To Be Filled By O.E.M.\n", "Default string", "System Product Name", "", " \n", "None", "0000", None]
)
def test_a_makers_placeholder_is_not_known(text: str | None) -> None:
    assert parse_dmi(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("model name\t: A CPU\n\nmodel name\t: A CPU\n", "A CPU"),
        ("model name\t: ARMv7 Processor rev 4 (v7l)\nHardware\t: BCM0000\n", "BCM0000"),
        (
            "CPU implementer\t: 0x41\nCPU part\t: 0xd0b\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n",
            "Arm 0x41-0xd05 0x41-0xd0b",
        ),
        ("cpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("", None),
    ],
)
def test_processors_of_several_architectures_are_named(text: str, name: str | None) -> None:
    assert parse_cpuinfo(text) == name


def test_clocks_of_now_are_no_part_of_a_name() -> None:
    slow, fast = "model name\t: A CPU\ncpu MHz\t\t: 800.1\n", "model name\t: A CPU\ncpu MHz\t\t: 4100.9\n"

    assert parse_cpuinfo(slow) == parse_cpuinfo(fast)


@pytest.mark.parametrize(("size", "gib"), [(1, 1), (1 << 30, 1), ((1 << 30) + 1, 2), (33_350_000_000, 32)])
def test_memory_is_rounded_up(size: int, gib: int) -> None:
    assert whole_gib(size) == gib
