"""Parse `getprop`: the properties of a phone."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_devperf.sensor.reading import lines_of

PRIVATE = re.compile(
    r"(gsm|net|dhcp|ril|vendor\.ril|persist\.radio|persist\.vendor\.radio|wifi|wlan|bluetooth|persist\.bluetooth)\..*"
    r"|.*(serial|imei|meid|iccid|imsi|mac_?addr|bdaddr|bt_addr|ssid|adb_keys|android_id|msisdn).*",
    re.IGNORECASE,
)
"""Properties that identify a unit, its owner or its network; the parser drops them, so that they cannot be stored."""

BEGINNING = re.compile(r"\[([^\]]+)\]: \[(.*)", re.DOTALL)


def parse_getprop(text: str) -> dict[str, str]:
    """Parse lines of `[key]: [value]`; a value may contain line breaks and brackets.

    Returns:
        Values by key, without those that identify a unit, its owner or its network. A last property that was cut
        off is left out.
    """
    entries: list[list[str]] = []
    for line in lines_of(text):
        if BEGINNING.fullmatch(line):
            entries.append([line])
        elif entries:
            entries[-1].append(line)
    properties: dict[str, str] = {}
    for entry in entries:
        while entry and not entry[-1].endswith("]"):
            entry.pop()
        found = BEGINNING.fullmatch("\n".join(entry))
        if found and not PRIVATE.fullmatch(found[1]):
            properties[found[1]] = found[2][:-1]
    return properties


def is_emulator(properties: Mapping[str, str]) -> bool:
    """Return whether the properties are those of an emulator.

    >>> is_emulator({"ro.product.model": "sdk_gphone64_x86_64"})
    True
    """
    if "1" in (properties.get("ro.kernel.qemu"), properties.get("ro.boot.qemu")):
        return True
    names = [properties.get(f"ro.product.{word}", "") for word in ("model", "name", "device", "brand")]
    if any(re.match(r"sdk_|generic|android sdk built", name, re.IGNORECASE) for name in names):
        return True
    return "emulator" in properties.get("ro.build.fingerprint", "")
