"""The hooks of pytest-benchmark, so that a conftest may implement them; none is called."""

from __future__ import annotations

from typing import Any


def pytest_benchmark_scale_unit(config: Any, unit: Any, benchmarks: Any, best: Any, worst: Any, sort: Any) -> Any:
    """Determine the unit of a table in pytest-benchmark."""


def pytest_benchmark_generate_machine_info(config: Any) -> Any:
    """Determine facts of the machine in pytest-benchmark."""


def pytest_benchmark_update_machine_info(config: Any, machine_info: Any) -> Any:
    """Determine facts of the machine in pytest-benchmark."""


def pytest_benchmark_generate_commit_info(config: Any) -> Any:
    """Determine facts of the commit in pytest-benchmark."""


def pytest_benchmark_update_commit_info(config: Any, commit_info: Any) -> Any:
    """Determine facts of the commit in pytest-benchmark."""


def pytest_benchmark_group_stats(config: Any, benchmarks: Any, group_by: Any) -> Any:
    """Determine the groups of a table in pytest-benchmark."""


def pytest_benchmark_generate_json(
    config: Any, benchmarks: Any, include_data: Any, machine_info: Any, commit_info: Any
) -> Any:
    """Determine the JSON document in pytest-benchmark."""


def pytest_benchmark_update_json(config: Any, benchmarks: Any, output_json: Any) -> Any:
    """Determine the JSON document in pytest-benchmark."""


def pytest_benchmark_compare_machine_info(
    config: Any, benchmarksession: Any, machine_info: Any, compared_benchmark: Any
) -> Any:
    """Determine two machines in pytest-benchmark."""
