"""Parse the saved results of pytest-benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_devperf.exchange.imported import Imported, Series, optional_text, positive_whole, required_text, utc
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.record.record import Commit
from pytest_devperf.targets.device import HOST, Device
from pytest_devperf.tool.extract import distinct, durations_ns, guarded, json_in, refuse

PYTEST_BENCHMARK = "pytest-benchmark"

NEXT_STEP = "save it with --benchmark-json=FILE, or with --benchmark-save-data"


@guarded(PYTEST_BENCHMARK, NEXT_STEP)
def parse_pytest_benchmark(text: str) -> Imported:
    """Parse a file of pytest-benchmark.

    Raises:
        CaseError: It is no such file, or contains only summaries.
    """
    document = json_in(text, PYTEST_BENCHMARK, NEXT_STEP)
    rows = document.get("benchmarks") if isinstance(document, dict) else None
    if not rows:
        refuse(PYTEST_BENCHMARK, "contains no benchmark", text, NEXT_STEP)
    machine, commit = document.get("machine_info") or {}, document.get("commit_info") or {}
    cpu = machine.get("cpu") or {}
    names = distinct(required_text(row["fullname"]) for row in rows)
    return Imported(
        tool=PYTEST_BENCHMARK,
        cases={name: _series_of_row(row, text) for name, row in zip(names, rows, strict=True)},
        device=Device(
            kind=HOST,
            soc=optional_text(cpu.get("brand_raw")),
            cores=positive_whole(cpu.get("count")),
            abi=optional_text(machine.get("machine")),
        ),
        taken_at=utc(document.get("datetime")),
        commit=_commit(commit),
        env={"python": optional_text(machine.get("python_version")), "os": optional_text(machine.get("system"))},
    )


def _commit(info: Mapping[str, Any]) -> Commit | None:
    found = optional_text(info.get("id"))
    if found == "unversioned":  # no repository
        return None
    dirty = info.get("dirty")
    known = dirty if isinstance(dirty, bool) else None
    return Commit(id=found, dirty=known, branch=optional_text(info.get("branch"))) if found else None


def _series_of_row(row: Mapping[str, Any], text: str) -> Series:
    stats = row["stats"]
    if not stats.get("data"):
        refuse(PYTEST_BENCHMARK, f"has only a summary of {row['fullname']!r}, no samples", text, NEXT_STEP)
    return Series(
        samples_ns=durations_ns(stats["data"], NS_PER_S, PYTEST_BENCHMARK, text),
        inner_loops=positive_whole(stats.get("iterations")) or 1,
        group=optional_text(row.get("group")),
        extra_info=extra if isinstance(extra := row.get("extra_info"), dict) else {},
    )
