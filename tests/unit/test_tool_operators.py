"""Tables of operators: both spellings of benchmark_model, and readers of plugins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf import CaseError, Operator, OperatorReader, parse_output
from pytest_devperf.targets.tabled import profile_table, rows_of
from pytest_devperf.tool.operators import read_operators
from pytest_devperf.tool.parse import reads_operators
from pytest_devperf.tool.readers.benchmark_model_operators import READER, parse_operators

TIMINGS = "Inference timings in us: Init: 900, First inference: 1400, Warmup (avg): 1300, Inference (avg): 1250\n"

INITIALISATION = """\
Profiling Info for Benchmark Initialization:
============================== Run Order ==============================
\t  [node type]\t [start]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]
\t  AllocateTensors\t 0.000\t 7.1\t 7.1\t 100.000%\t 100.000%\t 64.000\t 1\tAllocateTensors/0
"""

TABS = """\
Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
\t  [node type]\t [start]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]
\t  CONV_2D\t 0.010\t 0.700\t 0.600\t 48.000%\t 48.000%\t 0.000\t 1\t[net/conv1/Relu;net/conv1/BiasAdd]:0
\t  CUSTOM OP\t 0.610\t 0.300\t 0.250\t 20.000%\t 68.000%\t 0.000\t 0\t[net/a, net/b]:1
\t  ADD\t 0.860\t 0.500\t 0.400\t 32.000%\t 100.000%\t 0.000\t 1\t[net/add]:2

============================== Top by Computation Time ==============================
\t  [node type]\t [start]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]
\t  CONV_2D\t 0.010\t 0.700\t 0.600\t 48.000%\t 48.000%\t 0.000\t 1\t[net/conv1/Relu]:0
"""

BLANKS = """\
INFO: Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
              [node type]    [first]   [avg ms]      [%]   [cdf%]   [mem KB]   [times called]  [Name]
                 QUANTIZE      0.199      0.203   1.328%   1.328%      0.000                1  [tfl.quantize]:0
 Softmax (NC, F32)      0.420      0.050   4.300%   5.600%      0.000               13  Delegate/Softmax (NC, F32):1
      Binary 2.0 Mul         0.100      0.110   0.700%   6.300%      0.000                1  Delegate/Binary 2.0 Mul:2

============================== Top by Computation Time ==============================
"""


def test_both_spellings_are_read_with_the_time_of_one_inference() -> None:
    assert parse_operators(INITIALISATION + TABS) == [
        Operator("CONV_2D", "net/conv1/Relu", 600_000.0),
        Operator("CUSTOM OP", "net/a", 250_000.0),
        Operator("ADD", "net/add", 400_000.0),
    ]
    found = parse_operators(INITIALISATION + BLANKS)
    assert [(each.kind, each.name, each.calls) for each in found] == [
        ("QUANTIZE", "tfl.quantize", 1),
        ("Softmax (NC, F32)", "", 13),
        ("Binary 2.0 Mul", "", 1),
    ]
    assert [each.time_ns for each in found] == pytest.approx([203_000, 650_000, 110_000])


def test_only_the_last_table_counts_and_without_one_there_are_no_operators() -> None:
    assert [each.kind for each in parse_operators(BLANKS + TABS)] == ["CONV_2D", "CUSTOM OP", "ADD"]
    for text in ("", TIMINGS, INITIALISATION, TABS.partition("[times")[0], TABS.replace("[avg ms]", "[avg]")):
        assert list(parse_operators(text)) == []


@given(st.lists(st.sampled_from([*TABS.splitlines(), *BLANKS.splitlines(), "", "nan%", "\t-1 1e999 []"])))
def test_any_lines_end_in_operators_with_plausible_times(lines: list[str]) -> None:
    for each in read_operators("\n".join(lines), READER):
        assert each.time_ns >= 0
        assert each.calls >= 1


def test_operators_of_one_name_are_numbered_in_their_order() -> None:
    rows = rows_of([Operator("ADD", "x", 5.0), Operator("MUL", "", 6.0), Operator("ADD", "x", 7.0)])
    assert [(row.name, row.self_ns) for row in rows] == [("ADD x", (5.0,)), ("MUL", (6.0,)), ("ADD x#2", (7.0,))]


def parse_passes(text: str) -> list[Operator]:
    return [Operator("pass", line.split()[1], float(line.split()[2])) for line in text.splitlines() if line[:1] == "p"]


PASSES = OperatorReader(parse=lambda text: [float(text.split()[0])], parse_operators=parse_passes, options=("-p",))


def test_a_reader_of_a_plugin_parses_results_and_operators() -> None:
    assert parse_output("120 ns", PASSES).samples_ns == (120.0,)
    assert reads_operators(PASSES)
    assert reads_operators("benchmark_model")
    assert not reads_operators("lines")
    assert not reads_operators("nonsense")

    asked = []

    def start(options: tuple[str, ...], iterations: int) -> tuple[list[float], str]:
        asked.append((options, iterations))
        return [130.0 - len(asked), 140.0, 150.0], f"p blur {90 + len(asked)}\np blend 20"

    profile = profile_table(PASSES, start, metric="latency", iterations=3, runtime="")
    assert asked == [(("-p",), 3)] * 2
    assert [(row.name, row.self_ns) for row in profile.rows] == [
        ("pass blur", (91.0, 92.0)),
        ("pass blend", (20.0, 20.0)),
    ]
    assert (profile.kind, profile.plain_ns, profile.problem) == ("nodes", 140.0, None)


def test_a_program_without_a_table_is_not_explained() -> None:
    profile = profile_table(PASSES, lambda *_: ([1.0], "1"), metric="latency", iterations=3, runtime="")
    assert profile.problem == "the program printed no table of operators"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([Operator("a", "b", -1.0)], "implausible"),
        ([Operator("a", "b", float("nan"))], "implausible"),
        ([Operator("a", "b", 1.0, 0)], "implausible"),
        ([3], "TypeError"),
        (None, "TypeError"),
        ([("a",)], "TypeError"),
    ],
    ids=["negative", "nan", "never called", "no operator", "nothing", "too few"],
)
def test_a_wrong_reader_is_one_line(given: object, words: str) -> None:
    reader = OperatorReader(parse=lambda _: [1.0], parse_operators=lambda _: given)  # type: ignore[arg-type,return-value]
    with pytest.raises(CaseError, match=words):
        read_operators("text", reader)
