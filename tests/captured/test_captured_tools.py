"""The readers on output of real tools."""

from __future__ import annotations

import pytest
from captured import captured

from pytest_devperf.tool.readers.androidx import parse_androidx
from pytest_devperf.tool.readers.benchncnn import parse_benchncnn
from pytest_devperf.tool.readers.executor_runner import parse_executor_runner
from pytest_devperf.tool.readers.google_benchmark import parse_google_benchmark
from pytest_devperf.tool.readers.llama_bench import parse_llama_bench

FILES = {
    "tools/google_benchmark.json": (parse_google_benchmark, 3),
    "tools/llama_bench.json": (parse_llama_bench, 2),
    "tools/ncnn_benchncnn_sd855plus.txt": (parse_benchncnn, 20),
    "tools/executorch_executor_runner_2025.txt": (parse_executor_runner, 1),
    "androidx/benchmarkData_pixel3_macro_startup.json": (parse_androidx, 1),
    "androidx/benchmarkData_pixel5_frametiming.json": (parse_androidx, 4),
}


@pytest.mark.parametrize("name", FILES)
def test_a_real_output_is_read(name: str) -> None:
    parse, least = FILES[name]

    output = parse(captured(name).decode())

    assert len(output.series_ns) + bool(output.samples_ns) >= least
