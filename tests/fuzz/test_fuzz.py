"""A small share of what `python -m benchmarks.fuzz` tries: the same inputs each time, in seconds."""

from __future__ import annotations

import ast
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest

import pytest_devperf
from benchmarks.fuzz import __main__ as command
from benchmarks.fuzz import parsers as registry
from benchmarks.fuzz.growth import LARGE_BYTES, SMALL_BYTES, Pump, check_growth, cpu_ratio
from benchmarks.fuzz.parsers import PARSERS, Parser
from benchmarks.fuzz.trial import Tally, try_input, try_inputs

ROOT = Path(pytest_devperf.__file__).parent

INPUTS, PUMPS, SEED = 100, 3, 20_261_130


@pytest.mark.parametrize("parser", PARSERS, ids=[parser.name for parser in PARSERS])
def test_a_parser_raises_nothing_foreign_and_believes_no_absurd_number(parser: Parser) -> None:
    for data in parser.seeds:
        assert try_input(parser, data, Tally(parser.name)) is None

    tally = try_inputs(parser, INPUTS, SEED)

    assert tally.faults == []
    assert tally.inputs == INPUTS


@pytest.mark.parametrize("parser", PARSERS, ids=[parser.name for parser in PARSERS])
def test_calls_and_memory_of_a_parser_grow_no_faster_than_its_input(parser: Parser) -> None:
    assert check_growth(parser, PUMPS, SEED).faults == []


# --- the harness detects faults -------------------------------------------------------------------


def fake(call: registry.Call, *errors: type[Exception]) -> Parser:
    return Parser(name="fake", call=call, seeds=(b"a: 1\nb: 2\n",), errors=errors)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda data: {}[data], "KeyError"),
        (lambda data: int(data.partition(b":")[2] or b"x"), "ValueError"),
        (lambda _: float("inf"), "gave inf"),
        (lambda _: {"a": [(1 << 70,)]}, "an integer of 71 bits"),
        (lambda _: [].append([]) or [].pop(), "IndexError"),
    ],
)
def test_a_foreign_exception_and_an_absurd_number_are_faults(call: registry.Call, words: str) -> None:
    tally = try_inputs(fake(call), 50, SEED)

    assert words in tally.faults[0]
    assert "input b" in tally.faults[0]


def test_an_expected_exception_is_a_fault_only_if_its_message_is_the_input() -> None:
    def refuse(data: bytes) -> None:
        raise ValueError(data.decode("latin-1") * 2)

    tally = Tally("fake")
    assert try_input(fake(refuse, ValueError), b"short", tally) is None
    assert tally.refused == 1
    assert try_input(fake(refuse, ValueError), b"x" * 10_000, tally) == "a message of 20000 characters"


@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="nothing limits CPU time here")
def test_an_input_that_is_never_done_with_is_a_fault() -> None:
    def use_up_the_time(_: bytes) -> None:
        signal.raise_signal(signal.SIGPROF)  # what the system sends at the end of the time

    fault = try_input(fake(use_up_the_time), b"", Tally("fake"), cpu_s=20.0)

    assert fault is not None
    assert fault.startswith("Endless: not done after 20 s of CPU time")


def compare_all(data: bytes) -> int:
    return sum(max(one, other) for one in data for other in data)


def go_on(_: bytes) -> None:
    while True:
        len("")


@pytest.mark.parametrize("call", [compare_all, go_on])
def test_calls_that_grow_with_the_square_are_a_fault(call: registry.Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.fuzz.growth.SMALL_BYTES", 64)
    monkeypatch.setattr("benchmarks.fuzz.growth.LARGE_BYTES", 256)

    growth = check_growth(fake(call), 2, SEED)

    assert "four times the input takes inf times the work" in growth.faults[0]


def test_calls_that_begin_at_some_length_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.fuzz.growth.FLOOR_CALLS", 100)

    growth = check_growth(fake(lambda data: len(data) > SMALL_BYTES + 2 and [abs(each) for each in data]), 2, SEED)

    assert growth.faults == []
    assert growth.worst == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize(("power", "faults"), [(1, 0), (2, 2)])
def test_cpu_time_that_grows_with_the_square_is_a_fault(
    power: int, faults: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s = [0.0]
    monkeypatch.setattr("benchmarks.fuzz.growth.time", SimpleNamespace(thread_time=lambda: clock_s[0]))

    def work(data: bytes) -> None:
        clock_s[0] += (len(data) / LARGE_BYTES) ** power

    growth = check_growth(fake(work), 2, SEED, work_ratio=cpu_ratio)

    assert len(growth.faults) == faults
    assert growth.worst == pytest.approx(4.0**power, rel=0.01)


def test_memory_out_of_proportion_is_a_fault() -> None:
    growth = check_growth(fake(lambda data: [bytes(1000) for _ in data]), 2, SEED)

    assert "bytes of memory for each of the input" in growth.faults[0]


def test_a_pump_makes_inputs_of_about_the_length_that_is_asked_for() -> None:
    grown = Pump(b"{", b"[", b"1", b"]").grown(SMALL_BYTES)

    assert abs(len(grown) - SMALL_BYTES) <= 2
    assert grown.startswith(b"{[[[")
    assert grown.endswith(b"]]]")


def test_the_same_seed_gives_the_same_inputs() -> None:
    first: list[bytes] = []
    second: list[bytes] = []
    try_inputs(fake(first.append), 30, SEED)
    try_inputs(fake(second.append), 30, SEED)

    assert first == second
    assert len(set(first)) > 10


def test_the_command_prints_every_parsers_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--inputs", "40", "--pumps", "1", "--only", "option s", "--workers", "1"]) == 0

    output = capsys.readouterr().out
    assert re.search(r"option seconds +\d+ +\d+ +1", output)
    assert "4 parsers, 40 inputs, 4 pumps, seed 1: 0 faults" in output


# --- nothing is left out --------------------------------------------------------------------------

EXCUSED: Mapping[str, str] = {
    "case/array.py": "read_array read_objects",  # attributes of objects, no text: tests/unit/test_hostile_values.py
    "measure/warmup.py": "read_tick",  # an attribute of a runner, no text
    # The command line and the ini file are read by pytest, and every value by a parser of `session/options/parse.py`.
    "plugin/options.py": "read_cli read_ini read_providers read_settings",
    "session/options/parse.py": "parse_choice",  # makes the parser that is tried as `option choice`
    # Written by this package: in another process of the same session, or files that it is installed with.
    "plugin/reports.py": "read_outcome",
    "plugin/others/xdist.py": "pytest_testnodedown",
    "session/launch/follow.py": "new_events",
    "session/launch/interpreter.py": "output",
    "session/launch/turns.py": "_hear",
    "record/codec.py": "schema",
    "report/html/page.py": "_asset",
    "simphone/onboard/channel.py": "read take",
    "simphone/adb/services.py": "_reply",
    "targets/android/phone/undo_journal.py": "_own read",
    "targets/android/runner/setup.py": "_facts",
    "targets/android/runner/build.py": "sources_sha256",
    "targets/host/models/executorch_build.py": "build",
    # An environment's own packages, settings of this machine, and this package's own files.
    "cli/runs/import_results.py": "run",
    "cli/output.py": "echo_runs",
    "count/callgrind.py": "read_totals",
    "count/forks.py": "run_in_fork",
    "count/requests.py": "__init__",
    "doctor/host_facts.py": "_text read_host_facts",
    "doctor/host_trial.py": "start_fresh",
    "exchange/exports.py": "_json",
    "session/log/facts.py": "hash_file",
    "session/log/unfinished.py": "read_unfinished",
    "session/revision/bisection.py": "read",
    "session/revision/builds.py": "_direct_url _is_compiled _is_editable _read_toml",
    "session/revision/environments.py": "make_environment",
    "store/cache.py": "read",
    "store/outlines.py": "read_generation read_outlines read_some",
    "store/commit.py": "read_commit read_order",
    "targets/host/models/onnx_trace.py": "trace_session",
    # Functions of plugins return its values.
    "sensor/added.py": "read_sensors",
    # They pass their input to a fuzzed parser, or read a single word of the kernel's or the system's.
    "sensor/host/cpus.py": "_text read read_bound_cpus read_clusters",
    "sensor/host/counters.py": "_read",
    "sensor/instrument.py": "read_instrument",
    "sensor/host/linux.py": "_word text used_ram_mb",
    "sensor/host/load.py": "read_cpu_times read_ram_mb",
    "sensor/host/memory.py": "_status",
    "sensor/host/windows.py": "parse_power_status read_drivers read_supply",
    "session/cases/edge.py": "read_outcome",
    "session/kept/baselines.py": "read",
    "session/revision/measured_commit.py": "measure",
    "simphone/isolation/isolated.py": "_remedy",
    "simphone/isolation/host_files.py": "_library_folders",
    "simphone/onboard/serve.py": "_children_of",
    "simphone/isolation/usage.py": "_number_inside _tree",
    "store/files.py": "read",
    "store/folder.py": "read",
    "store/remote/store.py": "read",
    "targets/android/adb/client.py": "_usb_interface",
    "targets/android/adb/stream.py": "read_unless_silent",
    "targets/android/claimed_phone.py": "read_sensors",
    "targets/android/phone/identity.py": "read_identity",
    "targets/android/phone/limits.py": "read_limits",
    "targets/android/runner/model.py": "parse_watched",
    "targets/android/phone/sensors.py": "read_sensors",
    "targets/android/phone/work_folder.py": "read",
    "targets/host/memory/children.py": "read_descendants",
    "targets/host/program/runner.py": "_written",
    "targets/host/models/executorch.py": "_output",
    "targets/host/identity.py": "_text read_device",
    "targets/host/meter.py": "read_asleep_ns read_children_cpu_ns",
    "targets/host/memory/program_peak.py": "read",
    "targets/ios/devicectl.py": "list_connected",
    "tool/parse.py": "parse_output",
    # Sent to the simulated phone by the genuine adb of this machine.
    "simphone/adb/daemon.py": "read read_exactly",
    "simphone/onboard/files.py": "_read_word _recv_v2 _send_v2",
    "simphone/adb/shell.py": "_packet",
    "simphone/adb/wire.py": "encode",
}
"""Readers by file that need no separate entry, with the reason."""

NAMED = re.compile(r"(parse|split|decode|read)(_|$)")
"""Names of functions that read somebody else's text or bytes."""

DECODERS = {"loads", "raw_decode", "unpack", "unpack_from", "from_bytes", "frombuffer", "read_text", "read_bytes",
            "ZipFile", "mmap"}  # fmt: skip
"""Calls that make a function a reader, regardless of its name."""


def _calls_a_decoder(function: ast.AST) -> bool:
    names = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(getattr(name, "attr", getattr(name, "id", "")) in DECODERS for name in names) or any(
        re.search(r"(json|msgpack|decoder)\.decode$", ast.unparse(node.func))
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    )


def _readers() -> set[str]:
    """Name every function that reads somebody else's text or bytes."""
    return {
        f"{path.relative_to(ROOT).as_posix()}:{node.name}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if NAMED.match(node.name) or _calls_a_decoder(node)
    }


def _excused() -> set[str]:
    return {f"{path}:{name}" for path, names in EXCUSED.items() for name in names.split()}


def _tried() -> set[str]:
    """Name every function of the package that runs when the parsers get their seeds."""
    codes = set()

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        for parser in PARSERS:
            for data in parser.seeds:
                try_input(parser, data, Tally(parser.name))
    finally:
        sys.setprofile(None)
    paths = {code: Path(code.co_filename) for code in codes}
    return {
        f"{path.relative_to(ROOT).as_posix()}:{code.co_name}"
        for code, path in paths.items()
        if path.is_relative_to(ROOT)
    }


def test_every_reader_is_tried() -> None:
    missing = _readers() - _tried() - _excused()

    assert sorted(missing) == [], "add a row to benchmarks/fuzz/parsers.py, or add the reason to EXCUSED"


def test_no_exception_is_listed_for_parsers_that_are_fuzzed_or_removed() -> None:
    assert sorted(_excused() - _readers()) == []
    assert sorted(_excused() & _tried()) == []
