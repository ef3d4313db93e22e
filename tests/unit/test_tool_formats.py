"""Old and new formats of each tool are parsed into samples; other output is refused with its last lines."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_devperf.errors import CaseError
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.parse import parse_output
from pytest_devperf.tool.readers import READERS
from pytest_devperf.tool.readers.androidx import parse_androidx
from pytest_devperf.tool.readers.benchmark_model import parse_benchmark_model
from pytest_devperf.tool.readers.benchncnn import parse_benchncnn
from pytest_devperf.tool.readers.executor_runner import parse_executor_runner
from pytest_devperf.tool.readers.google_benchmark import parse_google_benchmark
from pytest_devperf.tool.readers.hyperfine import parse_hyperfine
from pytest_devperf.tool.readers.llama_bench import parse_llama_bench
from pytest_devperf.tool.readers.mnn import parse_mnn
from pytest_devperf.tool.readers.onnxruntime_perf_test import parse_onnxruntime_perf_test
from pytest_devperf.tool.readers.trtexec import parse_trtexec

PARSERS = {
    "androidx": parse_androidx,
    "benchmark_model": parse_benchmark_model,
    "benchncnn": parse_benchncnn,
    "executor_runner": parse_executor_runner,
    "google-benchmark": parse_google_benchmark,
    "hyperfine": parse_hyperfine,
    "llama-bench": parse_llama_bench,
    "mnn": parse_mnn,
    "onnxruntime_perf_test": parse_onnxruntime_perf_test,
    "trtexec": parse_trtexec,
}


# --- all readers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", PARSERS)
@pytest.mark.parametrize("text", ["", "usage: tool [options]\nno such file: m.tflite\n"])
def test_a_text_that_is_not_the_tools_is_refused_with_its_name_and_last_lines(tool: str, text: str) -> None:
    with pytest.raises(CaseError) as refused:
        PARSERS[tool](text)

    message = str(refused.value)
    assert f"the output of {tool} " in message
    assert ("no such file: m.tflite" if text else "it is empty") in message
    assert "\n" not in message
    assert refused.value.next_step


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["benchmarks", "results", "metrics", "runs", "name", "times", "latencyMs", "samples_ns", "real_time"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("tool", PARSERS)
@given(text=st.text() | JSON.map(json.dumps))
@settings(max_examples=50)
def test_a_reader_returns_positive_samples_or_refuses_for_any_text(tool: str, text: str) -> None:
    try:
        output = PARSERS[tool](text)
    except CaseError:
        return
    for samples in (output.samples_ns, *output.series_ns.values()):
        assert all(0 < sample < float("inf") for sample in samples)


# --- benchmark_model -------------------------------------------------------------------------------

LITERT = """INFO: STARTING!
INFO: Loaded model mini.tflite
INFO: count=50 first=812 curr=790 min=775 max=1021 avg=801.25 std=31 p5=777 median=795 p95=850

INFO: Inference timings in us: Init: 912, First inference: 1404, Warmup (avg): 1.02e+03, Inference (avg): 801.25
INFO: Memory footprint delta from the start of the tool (MB): init=1.25 overall=3.5
INFO: Overall peak memory footprint (MB) via periodic monitoring: 12.25
"""


def test_benchmark_model_gives_its_average_load_and_peak() -> None:
    output = parse_benchmark_model(LITERT)

    assert output.samples_ns == (801_250.0,)
    assert output.load_ns == 912_000
    assert output.values == {"first_inference": Value(value=1.404, unit="ms")}
    assert output.peak_bytes == 12_845_056


@pytest.mark.parametrize(
    ("line", "sample_ns", "load_ns"),
    [
        ("Average inference timings in us: Warmup: 91, Init: 41, Inference: 80.5", 80_500, 41_000),
        ("Average inference timings in us: Warmup: 91, Init: 41, no stats: 80", 80_000, 41_000),
        ("11-02 10:00:01.120  771  790 I tflite  : Inference timings in us: Init: 7, First inference: 9, "
         "Warmup (avg): 9, Inference (avg): 1.23e+06", 1.23e9, 7_000),
    ],
)  # fmt: skip
def test_benchmark_model_is_read_in_every_wording(line: str, sample_ns: float, load_ns: float) -> None:
    output = parse_benchmark_model(line)

    assert output.samples_ns == (sample_ns,)
    assert output.load_ns == load_ns
    assert output.peak_bytes is None


@pytest.mark.parametrize(
    ("line", "peak"),
    [
        ("Memory footprint delta from the start of the tool (MB): init=1 overall=2", 2_097_152),
        ("Peak memory footprint (MB): init=0.5 overall=1.5", 1_572_864),
        ("Peak memory footprint (MB): init=0 overall=0", None),
    ],
)
def test_benchmark_model_spells_memory_in_three_ways_and_unknown_as_zero(line: str, peak: int | None) -> None:
    assert parse_benchmark_model(f"Inference timings in us: Inference (avg): 5\n{line}\n").peak_bytes == peak


def test_benchmark_models_last_run_counts_in_a_log_of_two() -> None:
    earlier = LITERT.replace("801.25", "999")

    assert parse_benchmark_model(earlier + LITERT).samples_ns == (801_250.0,)


# --- onnxruntime_perf_test -------------------------------------------------------------------------

ORT = """Setting intra_op_num_threads to 1
Session creation time cost: 0.0125 s
First inference time cost: 3 ms
Total inference time cost: 0.0031 s
Total inference requests: 3
Average inference time cost: 1.0333 ms
Total inference run time: 0.0032 s
Avg CPU usage: 98 %
Peak working set size: 20971520 bytes
"""
ORT_ROWS = """mini,0.001,20971520,98,0
mini,0.0011,20971520,98,1
mini,0.001000,20971520,98,2

Min Latency: 0.001 s
P50 Latency: 0.001 s
"""


def test_onnxruntime_perf_test_gives_its_average() -> None:
    output = parse_onnxruntime_perf_test(ORT)

    assert output.samples_ns == pytest.approx((1_033_300,))
    assert output.load_ns == pytest.approx(12_500_000)
    assert output.peak_bytes == 20_971_520
    assert output.values["first_inference"].value == 3


@pytest.mark.parametrize("wording", ["Average inference time cost:", "Average inference time cost total: "])
def test_onnxruntime_perf_test_is_read_in_every_wording(wording: str) -> None:
    assert parse_onnxruntime_perf_test(f"{wording}2.5 ms\n").samples_ns == (2_500_000,)


def test_onnxruntime_perf_tests_rows_beat_the_average() -> None:
    output = parse_onnxruntime_perf_test(ORT + ORT_ROWS)

    assert output.samples_ns == pytest.approx((1_000_000, 1_100_000, 1_000_000))


def test_onnxruntime_perf_tests_file_is_appended_to_and_its_last_run_counts() -> None:
    earlier = "mini,0.5,20971520,98,0\nmini,0.5,20971520,98,1\n"

    output = parse_onnxruntime_perf_test(earlier + ORT_ROWS)

    assert len(output.samples_ns) == 3
    assert max(output.samples_ns) < 2_000_000


# --- google benchmark ------------------------------------------------------------------------------


def google(*rows: dict) -> str:
    return json.dumps({"context": {"num_cpus": 4}, "benchmarks": list(rows)})


def test_google_benchmarks_repetitions_are_samples_and_aggregates_are_not() -> None:
    row = {"name": "BM_Add", "run_name": "BM_Add", "run_type": "iteration", "time_unit": "us", "cpu_time": 1}
    output = parse_google_benchmark(
        google(
            {**row, "real_time": 2.0, "items_per_second": 500_000.0},
            {**row, "real_time": 2.5, "items_per_second": 400_000.0},
            {**row, "name": "BM_Add_mean", "run_type": "aggregate", "real_time": 2.25},
        )
    )

    assert output.samples_ns == (2000, 2500)
    assert output.values == {"items_per_s": Value(value=400_000.0, unit="1/s", better="higher")}


def test_google_benchmarks_old_aggregates_are_known_by_their_names() -> None:
    rows = [{"name": name, "real_time": 3.0, "time_unit": "ms"} for name in ("BM_A", "BM_A_mean", "BM_A_cv")]

    assert parse_google_benchmark(google(*rows)).samples_ns == (3_000_000,)


def test_google_benchmarks_median_is_used_if_only_aggregates_are_reported() -> None:
    row = {"run_name": "BM_A", "run_type": "aggregate", "time_unit": "s"}
    output = parse_google_benchmark(
        google(
            {**row, "name": "BM_A_mean", "aggregate_name": "mean", "real_time": 9.0},
            {**row, "name": "BM_A_median", "aggregate_name": "median", "real_time": 1.0},
        )
    )

    assert output.samples_ns == (1_000_000_000,)


def test_several_google_benchmarks_are_series_by_name() -> None:
    output = parse_google_benchmark(google({"name": "BM_A/8", "real_time": 5}, {"name": "BM_A/64", "real_time": 9}))

    assert output.samples_ns == ()
    assert output.series_ns == {"BM_A/8": (5,), "BM_A/64": (9,)}


def test_a_failed_google_benchmark_is_refused_with_its_message() -> None:
    with pytest.raises(CaseError, match="reports that BM_A failed: out of luck"):
        parse_google_benchmark(google({"name": "BM_A", "error_occurred": True, "error_message": "out of luck"}))


def test_a_skipped_google_benchmark_is_left_out_and_the_others_are_read() -> None:
    skipped = {"name": "BM_Gpu", "skipped": True, "skip_message": "no GPU", "real_time": 0.0}

    output = parse_google_benchmark(google(skipped, {"name": "BM_A", "real_time": 5}))

    assert output.samples_ns == (5,)


def test_a_google_benchmark_that_skipped_everything_is_refused_with_its_message() -> None:
    with pytest.raises(CaseError, match="every benchmark was skipped: no GPU"):
        parse_google_benchmark(google({"name": "BM_Gpu", "skipped": True, "skip_message": "no GPU"}))


def test_two_google_benchmarks_of_one_name_are_two_series_and_repetitions_are_one() -> None:
    rows = [
        {"name": "BM_A", "family_index": family, "per_family_instance_index": 0, "repetition_index": index,
         "real_time": time, "items_per_second": time}
        for family, index, time in [(0, 0, 5), (0, 1, 6), (1, 0, 50)]
    ]  # fmt: skip

    output = parse_google_benchmark(google(*rows))

    assert output.series_ns == {"BM_A": (5, 6), "BM_A #2": (50,)}
    assert {name: each.value for name, each in output.values.items()} == {
        "BM_A.items_per_s": 6,
        "BM_A #2.items_per_s": 50,
    }


def test_a_google_benchmark_in_an_unknown_unit_is_refused() -> None:
    with pytest.raises(CaseError, match="counts in 'min'"):
        parse_google_benchmark(google({"name": "BM_A", "real_time": 5, "time_unit": "min"}))


def test_json_that_is_cut_off_is_reported_as_such() -> None:
    with pytest.raises(CaseError, match="cut off or damaged"):
        parse_google_benchmark(google({"name": "BM_A", "real_time": 5})[:-20])


def test_json_is_found_behind_a_log() -> None:
    text = "[ok] 3 devices found\n{not json}\n" + google({"name": "BM_A", "real_time": 5}) + "\nbye\n"

    assert parse_google_benchmark(text).samples_ns == (5,)


# --- llama-bench -----------------------------------------------------------------------------------

PROMPT = {"n_prompt": 512, "n_gen": 0, "avg_ns": 5, "samples_ns": [4, 6], "avg_ts": 100.0}
GENERATION = {"n_prompt": 0, "n_gen": 128, "n_depth": 256, "avg_ns": 50, "samples_ns": [50, 50], "avg_ts": 10.0}


@pytest.mark.parametrize(
    "text", [json.dumps([PROMPT, GENERATION]), f"{json.dumps(PROMPT)}\n{json.dumps(GENERATION)}\n"]
)
def test_llama_bench_gives_each_tests_repetitions_and_rate(text: str) -> None:
    output = parse_llama_bench(text)

    assert output.series_ns == {"pp512": (4, 6), "tg128 @ d256": (50, 50)}
    assert output.values["pp512.tokens_per_s"] == Value(value=100.0, unit="1/s", better="higher")


def test_a_single_llama_bench_test_is_the_sample() -> None:
    output = parse_llama_bench(json.dumps([PROMPT]))

    assert output.samples_ns == (4, 6)
    assert set(output.values) == {"tokens_per_s"}


def test_the_same_llama_bench_test_of_two_settings_keeps_both() -> None:
    assert set(parse_llama_bench(json.dumps([PROMPT, PROMPT, PROMPT])).series_ns) == {"pp512", "pp512 #2", "pp512 #3"}


# --- benchncnn and MNN -----------------------------------------------------------------------------

NCNN = """loop_count = 4
num_threads = 2
          squeezenet  min =    3.60  max =    3.70  avg =    3.64
  FastestDet plus one min =   11.00  max =   13.00  avg =   12.50
"""
MNN = """MNN benchmark
Forward type: **CPU** thread=4** precision=2
--------> Benchmarking... loop = 10, warmup = 5
[ - ] squeezenet.mnn              max =   43.952 ms  min =   40.742 ms  avg =   41.500 ms
Don't support type 68
[ - ] nasnet.mnn                  max =   43.952ms  min =   40.742ms  avg =   14.250ms
"""


def test_benchncnn_gives_each_networks_average() -> None:
    assert parse_benchncnn(NCNN).series_ns == {"squeezenet": (3_640_000,), "FastestDet plus one": (12_500_000,)}


@pytest.mark.parametrize(
    ("parse", "line"),
    [
        (parse_benchncnn, "net min = 1 max = 3 avg = 2\n"),
        (parse_mnn, "[ - ] net.mnn max = 3 ms min = 1 ms avg = 2 ms\n"),
    ],
)
def test_a_network_that_is_measured_twice_is_two_series(parse: Callable[[str], Output], line: str) -> None:
    assert parse(line * 2).series_ns == {"net": (2_000_000,), "net #2": (2_000_000,)}


def test_mnn_gives_each_models_average_in_both_wordings() -> None:
    assert parse_mnn(MNN).series_ns == {"squeezenet": (41_500_000,), "nasnet": (14_250_000,)}


@pytest.mark.parametrize(("parse", "text"), [(parse_benchncnn, NCNN), (parse_mnn, MNN)])
def test_a_network_of_an_earlier_run_in_the_log_is_left_out(parse, text: str) -> None:
    assert set(parse(text.replace("squeezenet", "vgg16") + text).series_ns) == set(parse(text).series_ns)


# --- executor_runner -------------------------------------------------------------------------------

EXECUTORCH = """I 00:00:00.000526 executorch:executor_runner.cpp:82] Model file add.pte is loaded.
I 00:00:00.000663 executorch:executor_runner.cpp:564] Model loaded in 12.500000 ms.
I 00:00:00.000705 executorch:executor_runner.cpp:705] Iteration 1 of 2: 2.500000 ms
I 00:00:00.000706 executorch:executor_runner.cpp:705] Iteration 2 of 2: 1.500000 ms
I 00:00:00.000714 executorch:executor_runner.cpp:714] Model executed successfully 2 time(s) in 4.000000 ms.
"""


def test_executor_runner_gives_each_iteration_and_its_load() -> None:
    output = parse_executor_runner(EXECUTORCH)

    assert output.samples_ns == (2_500_000, 1_500_000)
    assert output.load_ns == 12_500_000


def test_executor_runners_log_on_android_is_read_and_its_last_run_counts() -> None:
    log = "\n".join(f"11-02 10:00:01.1  77  77 I ExecuTorch: {line}" for line in EXECUTORCH.splitlines())

    assert parse_executor_runner(log.replace("1.500000", "9.000000") + "\n" + log).samples_ns == (2_500_000, 1_500_000)


def test_executor_runners_total_gives_one_sample() -> None:
    assert parse_executor_runner("Model executed successfully 4 time(s) in 10.0 ms.").samples_ns == (2_500_000,)


def test_for_an_executor_runner_without_times_a_newer_one_is_suggested() -> None:
    with pytest.raises(CaseError, match=r"contains no time .* build a newer executor_runner"):
        parse_executor_runner("I executorch:executor_runner.cpp:180] Model executed successfully.\n")


# --- androidx --------------------------------------------------------------------------------------


def android(*benchmarks: dict) -> str:
    return json.dumps({"context": {"cpuLocked": False}, "benchmarks": list(benchmarks)}, indent=4)


def test_a_microbenchmarks_runs_are_samples_and_its_allocations_a_value() -> None:
    output = parse_androidx(
        android(
            {
                "name": "sort",
                "className": "com.example.SortBenchmark",
                "metrics": {"timeNs": {"runs": [10.5, 11.0]}, "allocationCount": {"runs": [3.0, 3.0, 4.0]}},
            }
        )
    )

    assert output.samples_ns == (10.5, 11.0)
    assert output.values == {"sort.allocationCount": Value(value=3.0, unit="1")}


def test_macrobenchmarks_are_series_and_sampled_metrics_are_flattened() -> None:
    output = parse_androidx(
        android(
            {
                "name": "scroll",
                "className": "com.example.Scroll",
                "metrics": {"timeToInitialDisplayMs": {"runs": [300, 310.5]}},
                "sampledMetrics": {"frameDurationCpuMs": {"P50": 4, "runs": [[4.0, 5.0], [6.0]]}},
            }
        )
    )

    assert output.series_ns == {
        "scroll.timeToInitialDisplay": (300_000_000, 310_500_000),
        "scroll.frameDurationCpu": (4_000_000, 5_000_000, 6_000_000),
    }


def test_android_benchmarks_of_one_name_are_distinguished_by_their_class() -> None:
    rows = [
        {"name": "start", "className": f"com.example.{kind}", "metrics": {"timeNs": {"runs": [5]}}}
        for kind in ("Cold", "Warm")
    ]

    assert set(parse_androidx(android(*rows)).series_ns) == {"Cold.start", "Warm.start"}


def test_android_benchmarks_of_one_name_and_class_are_distinguished_by_a_number() -> None:
    row = {"name": "start", "className": "com.example.Cold", "metrics": {"timeNs": {"runs": [5]}}}

    assert set(parse_androidx(android(row, row)).series_ns) == {"Cold.start", "Cold.start #2"}


# --- trtexec and hyperfine -------------------------------------------------------------------------


@pytest.mark.parametrize(("to_device", "to_host"), [("h2dMs", "d2hMs"), ("inMs", "outMs")])
def test_trtexec_gives_each_querys_latency_and_parts(to_device: str, to_host: str) -> None:
    queries = [{"latencyMs": 2.5, "computeMs": 2.0, to_device: 0.5, to_host: 0.0}] * 2
    output = parse_trtexec(json.dumps(queries))

    assert output.samples_ns == (2_500_000, 2_500_000)
    assert output.series_ns == {"compute": (2_000_000, 2_000_000), "to_device": (500_000, 500_000)}


def test_hyperfine_gives_each_runs_time_and_the_peak_memory() -> None:
    result = {"command": "sleep 0", "times": [0.5, 0.25], "memory_usage_byte": [100, 300], "exit_codes": [0, 0]}
    output = parse_hyperfine(json.dumps({"results": [result]}))

    assert output.samples_ns == (500_000_000, 250_000_000)
    assert output.peak_bytes == 300


def test_hyperfines_commands_are_series() -> None:
    results = [{"command": "a", "times": [1.0], "exit_codes": [0]}, {"command": "b", "mean": 2.0}]

    assert parse_hyperfine(json.dumps({"results": results})).series_ns == {"a": (1e9,), "b": (2e9,)}


def test_hyperfine_results_of_one_name_are_distinguished_by_their_parameters_or_a_number() -> None:
    results = [
        {"command": "tool", "times": [1.0], "parameters": {"size": "1"}},
        {"command": "tool", "times": [9.0], "parameters": {"size": "9"}},
        {"command": "other", "times": [2.0], "parameters": {"size": "9"}},
        {"command": "tool", "times": [3.0]},
        {"command": "tool", "times": [4.0]},
    ]

    assert parse_hyperfine(json.dumps({"results": results})).series_ns == {
        "tool (size=1)": (1e9,),
        "tool (size=9)": (9e9,),
        "other": (2e9,),
        "tool": (3e9,),
        "tool #2": (4e9,),
    }


@pytest.mark.parametrize("code", [1, None])
def test_a_failed_run_of_hyperfine_is_refused(code: int | None) -> None:
    result = {"command": "false", "times": [0.5], "exit_codes": [0, code]}

    with pytest.raises(CaseError, match="'false' failed"):
        parse_hyperfine(json.dumps({"results": [result]}))


@pytest.mark.parametrize("time", [0, -1, float("nan"), None, "1", True, 1e300, 1e-300])
def test_no_duration_that_is_none_is_ever_a_sample(time: object) -> None:
    with pytest.raises(CaseError, match="contains the duration"):
        parse_hyperfine(json.dumps({"results": [{"command": "a", "times": [1.0, time]}]}))


# --- output of no tool, in time proportional to its length -----------------------------------------

ABSURD = "9" * 450

NO_OUTPUT = {
    "nested too deeply": "[" * 100_000,
    "objects nested too deeply": '[{"a":' * 100_000,
    "an integer of 450 digits": json.dumps({"benchmarks": [{"name": "a", "real_time": int(ABSURD)}]}),
    "a float beyond all floats": MNN.replace("14.250ms", f"{ABSURD}ms").replace("41.500", "1e999"),
    "a count of 5000 digits": f"Model executed successfully {'9' * 5000} time(s) in 1 ms.",
    "a row of 5000 digits": f"m,0.1,{'9' * 5000},1,0",
}


@pytest.mark.parametrize("tool", READERS)
@pytest.mark.parametrize("text", NO_OUTPUT.values(), ids=NO_OUTPUT)
def test_absurd_numbers_and_depths_are_refused_by_every_reader(tool: str, text: str) -> None:
    with pytest.raises(CaseError):
        parse_output(text, tool)


def test_a_list_that_is_cut_off_is_not_read_as_its_first_element() -> None:
    with pytest.raises(CaseError, match="cut off or damaged"):
        parse_llama_bench(json.dumps([PROMPT, GENERATION], indent=1)[:-40])


def test_a_log_of_lines_that_begin_like_json_does_not_hide_the_document() -> None:
    log = "".join(f'{{"step {number}\n' for number in range(50))

    assert parse_google_benchmark(log + google({"name": "BM_A", "real_time": 5})).samples_ns == (5,)


@pytest.mark.parametrize(
    "given",
    [
        Output(samples_ns=(1e300,)),
        Output(series_ns={"a": (5, 10**5000)}),
        Output(samples_ns=(5,), load_ns=1e300),
        Output(samples_ns=(5,), peak_bytes=1 << 70),
        Output(values={"x": Value(value=1e300, unit="")}),
    ],
)
def test_an_implausible_number_of_a_reader_is_refused_by_its_kind(given: Output) -> None:
    with pytest.raises(CaseError, match="which is implausible"):
        parse_output("", lambda _: given)


def test_every_tool_is_found_by_its_name() -> None:
    assert {name: getattr(READERS[name], "parse", READERS[name]) for name in PARSERS} == PARSERS
