"""Parse the output of benchmark tools into samples: one `parse_*(text)` function per tool."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping

from pytest_devperf.tool.output import Output

Reader = Callable[[str], Output]

PLACES: Mapping[str, str] = {
    "lines": "pytest_devperf.tool.readers.lines:parse_lines",
    "json-lines": "pytest_devperf.tool.readers.lines:parse_json_lines",
    "benchmark_model": "pytest_devperf.tool.readers.benchmark_model_operators:READER",
    "onnxruntime_perf_test": "pytest_devperf.tool.readers.onnxruntime_perf_test:parse_onnxruntime_perf_test",
    "google-benchmark": "pytest_devperf.tool.readers.google_benchmark:parse_google_benchmark",
    "llama-bench": "pytest_devperf.tool.readers.llama_bench:parse_llama_bench",
    "benchncnn": "pytest_devperf.tool.readers.benchncnn:parse_benchncnn",
    "mnn": "pytest_devperf.tool.readers.mnn:parse_mnn",
    "executor_runner": "pytest_devperf.tool.readers.executor_runner:parse_executor_runner",
    "androidx": "pytest_devperf.tool.readers.androidx:parse_androidx",
    "trtexec": "pytest_devperf.tool.readers.trtexec:parse_trtexec",
    "hyperfine": "pytest_devperf.tool.readers.hyperfine:parse_hyperfine",
}
"""`read=` name -> module and reader; the module is imported when its name is first used."""


class _Readers(Mapping[str, Reader]):
    """The parse functions by name, imported on first use."""

    def __getitem__(self, name: str) -> Reader:
        module, _, function = PLACES[name].partition(":")
        reader: Reader = getattr(importlib.import_module(module), function)
        return reader

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


READERS: Mapping[str, Reader] = _Readers()
