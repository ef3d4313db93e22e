"""Every parser of the project: what it is called with, what it may refuse with, and what it reads in real life.

A parser that is missing here is not tried; add a row with each new one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import adbutils
import pytest

from benchmarks.fuzz import seeds
from pytest_devperf.cli.arguments import seconds
from pytest_devperf.compare import policy
from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import index
from pytest_devperf.compare.noise import noise
from pytest_devperf.compare.policy import Policy
from pytest_devperf.count.callgrind import parse_total
from pytest_devperf.errors import CaseError, StoreError, UsageError
from pytest_devperf.exchange import imports
from pytest_devperf.explain.nodes import read_trace
from pytest_devperf.measure import cooldown
from pytest_devperf.model_file.executorch import parse_executorch, read_executorch
from pytest_devperf.model_file.litert import parse_litert, read_litert
from pytest_devperf.model_file.onnx import parse_schema, read_schema
from pytest_devperf.model_file.tensor import TensorSpec
from pytest_devperf.record.codec import decode, decode_heads, decode_outlines, encode
from pytest_devperf.record.record import Document
from pytest_devperf.report.detail import failure_text
from pytest_devperf.report.report import Report
from pytest_devperf.report.terminal import noise as as_noise
from pytest_devperf.report.terminal import text as as_text
from pytest_devperf.sensor import batch, proc, zone
from pytest_devperf.sensor.android import battery, clock, power, properties, thermal
from pytest_devperf.sensor.host import cpus, macos
from pytest_devperf.sensor.host.supply import parse_supply
from pytest_devperf.sensor.host.windows import engine_util_pct, parse_power_plan
from pytest_devperf.session.launch.handover import parse_handover
from pytest_devperf.session.launch.lobby import Lobby
from pytest_devperf.session.launch.old_code import parse_probe
from pytest_devperf.session.log.entries import decode_entry, decode_header
from pytest_devperf.session.log.file import MAGIC, read_log
from pytest_devperf.session.log.file import _framed as frame_entry
from pytest_devperf.session.options import parse as options
from pytest_devperf.simphone import parse_spec
from pytest_devperf.simphone.adb.wire import read_packet
from pytest_devperf.simphone.isolation.elf import read_elf
from pytest_devperf.store import commit, naming
from pytest_devperf.store.file import read_file
from pytest_devperf.store.open import open_store
from pytest_devperf.store.remote.index import decode_entry as decode_index_entry
from pytest_devperf.store.remote.requests import without_secrets
from pytest_devperf.targets.android.adb import attached, stream, sync
from pytest_devperf.targets.android.phone import file_store, identity, lease, reading, undo_journal, work_folder
from pytest_devperf.targets.android.runner import setup
from pytest_devperf.targets.android.runner.manifest import parse_output as parse_array
from pytest_devperf.targets.android.runner.reply import ModelOutput, parse_reply
from pytest_devperf.targets.android.tools import script
from pytest_devperf.targets.android.tools.command_line import split_outputs
from pytest_devperf.targets.app.intake import IntakeServer
from pytest_devperf.targets.app.wire import Begun, CaseReport, FinalReport, Task, parse_body
from pytest_devperf.targets.cpus import parse_cpus
from pytest_devperf.targets.host import identity as host_identity
from pytest_devperf.targets.host.meter import parse_waited_ns
from pytest_devperf.targets.ios.devicectl import parse_devices
from pytest_devperf.tool.flags import parse_flags
from pytest_devperf.tool.operators import read_operators
from pytest_devperf.tool.readers import READERS
from pytest_devperf.tool.readers.benchmark_model_operators import READER as OPERATORS
from pytest_devperf.untrusted import parse_json

Call = Callable[[bytes], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """One parser and its beginnings."""

    name: str
    call: Call
    seeds: tuple[bytes, ...]
    errors: tuple[type[Exception], ...] = ()
    """What it may raise. Every other exception is a fault."""
    weight: int = 1
    """How many times more inputs than the others it gets: those that read files of strangers."""


def _row(name: str, call: Call, texts: Sequence[str | bytes], *errors: type[Exception], weight: int = 1) -> Parser:
    given = tuple(text.encode() if isinstance(text, str) else text for text in texts)
    return Parser(name=name, call=call, seeds=given, errors=errors, weight=weight)


def _text(parse: Callable[[str], object]) -> Call:
    """Decode as the output of tools and phones is decoded."""
    return lambda data: parse(data.decode("utf-8", "replace"))


def _word(parse: Callable[[str], object]) -> Call:
    """Decode as a command line is decoded."""
    return lambda data: parse(data.decode("utf-8", "surrogateescape"))


def _tools() -> Iterator[Parser]:
    for name, texts in seeds.TOOLS.items():
        real = seeds.captured(seeds.CAPTURED_TOOLS[name]) if name in seeds.CAPTURED_TOOLS else ()
        yield _row(f"tool {name}", _text(READERS[name]), (*texts, *real), CaseError)
    for name in imports.FORMATS:
        texts = seeds.IMPORTS if name == imports.PYTEST_BENCHMARK else seeds.TOOLS[name]
        parse = partial(_parse_import, name)
        yield _row(f"import {name}", _text(parse), texts, UsageError, weight=2)
    operators = partial(read_operators, reader=OPERATORS)
    yield _row("tool benchmark_model operators", _text(operators), seeds.OPERATORS, CaseError)
    yield _row("tool flags", _text(parse_flags), [seeds.HELP])


def _parse_import(tool: str, text: str) -> object:
    """Parse a file of another tool, and write the run as the store does."""
    found = imports.parse_import(tool, text, "file.json")
    run = imports.make_run(
        found, label="old", device=found.device, taken_at="2026-11-29T20:15:03Z", version="0", run_id="1a2b"
    )
    return encode(Document(runs=(run,)))


def _sensors() -> Iterator[Parser]:
    phones = seeds.phone_dumps()
    yield _row("sensor thermalservice", _text(thermal.parse_thermalservice), phones["thermal"])
    yield _row("sensor battery", _text(battery.parse_battery), phones["battery"])
    yield _row("sensor power", _text(power.parse_power), phones["power"])
    yield _row("sensor clocks", _text(clock.parse_clocks), phones["clocks"])
    yield _row("sensor zones", _text(zone.parse_zones), phones["zones"])
    yield _row("sensor getprop", _text(properties.parse_getprop), phones["properties"])
    yield _row("sensor look", _text(reading.parse_sensors), [seeds.look()])
    names = tuple(reading.PROBES)
    yield _row("sensor batch", _text(lambda text: batch.split_batch(text, names)), [seeds.look()])
    yield _row("sensor cpu times", _text(proc.parse_cpu_times), [seeds.CPU_STAT])
    yield _row("sensor memory", _text(proc.parse_meminfo), [seeds.MEMINFO])
    yield _row("sensor CPU quota of version 1", _text(lambda text: cpus.parse_cfs_quota(*_halves(text))), ["-1 1"])
    yield _row("sensor status", _text(lambda text: proc.parse_status_bytes(text, "VmRSS")), [seeds.STATUS])
    yield _row("sensor pressure", _text(proc.parse_pressure_pct), [seeds.PRESSURE])
    yield _row("sensor count", _text(proc.parse_count), ["1800000\n", "0x50000\n", "-1"])
    yield _row("sensor celsius", _text(zone.parse_celsius), ["45300\n", "-99.9"])
    yield _row("sensor CPUs allowed", _text(cpus.parse_allowed), [seeds.STATUS])
    yield _row("sensor CPU list", _text(cpus.parse_cpu_list), ["0-3,6", "0-8191"])
    yield _row("sensor CPU quota", _text(cpus.parse_cpu_max), ["150000 100000\n", "max 100000"])
    yield _row("sensor control groups", _text(lambda text: list(cpus.group_folders(text))), [seeds.CGROUP])
    yield _row("sensor supply", _text(_supply), ["Battery\nDischarging\n81\n1\n", "Mains\n\n\n1\n"])
    yield _row("sensor pmset therm", _text(macos.parse_therm), [seeds.THERM])
    yield _row("sensor pmset batt", _text(macos.parse_batt), [seeds.BATT])
    yield _row("sensor pmset", _text(macos.parse_power_mode), [" standby 1\n lowpowermode         1\n"])
    yield _row("sensor powercfg", _text(parse_power_plan), [seeds.POWERCFG])
    yield _row(
        "sensor GPU engines", _text(lambda text: engine_util_pct([(text, 1.0)])), ["pid_1_luid_0x0_phys_0_eng_3"]
    )


def _halves(text: str) -> tuple[str, str]:
    first, _, second = text.partition(" ")
    return first, second


def _supply(text: str) -> object:
    names = ("type", "status", "capacity", "online")
    return parse_supply([dict(zip(names, text.split("\n"), strict=False))])


def _devices() -> Iterator[Parser]:
    yield _row("host cpuinfo", _text(host_identity.parse_cpuinfo), [seeds.CPUINFO])
    yield _row("host DMI", _text(host_identity.parse_dmi), ["LENOVO\n", "To Be Filled By O.E.M."])
    yield _row("host schedstat", parse_waited_ns, ["1234567 89 10\n"])
    yield _row("iPhone devices", _text(parse_devices), [seeds.XCODE], ValueError)
    yield _row("phone present CPUs", _text(identity.parse_present), ["0-7\n"])
    yield _row("phone end of a program", _text(script.parse_end), [seeds.END])
    yield _row("phone times", _text(script.parse_times), [seeds.END])
    yield _row("phone anchors", _text(script.parse_anchors), ['{"anchor_ns": [5000, 5012]}\n'])
    yield _row("phone df", _text(work_folder.parse_df), [seeds.DF])
    yield _row("phone journal", _text(undo_journal.parse_changes), [seeds.JOURNAL])
    yield _row("phone lease", _text(lease.parse_holder), ["4711 1234567 0f1c-22\n"])
    yield _row("phone stored files", _text(file_store.parse_listing), [seeds.LISTING])
    yield _row("phone stamps", _text(lambda text: script.parse_took_ns(*_halves(text))), [seeds.STAMPS])
    yield _row("simulated phone's packets", _link_packets, [seeds.LINK_PACKET], EOFError, ConnectionError)
    yield _row("simulated phone's programs", lambda data: _in_a_file(data, read_elf), [seeds.PROGRAM], weight=2)
    yield _row("phone answer", _text(parse_reply), seeds.ANSWER, ValueError, weight=2)
    yield _row("phone output", _output, [bytes(16), b"a\0b\0"], CaseError)
    yield _row("phone outputs of a tool", lambda data: split_outputs(SLOTS, data), [bytes(20), bytes(12)])
    yield _row("phone shell packets", _packets, seeds.PACKETS, EOFError, ConnectionError, weight=2)
    yield _row("phone file transfer", _transfer, seeds.SYNC, EOFError, ValueError, sync.TransferRefused, weight=2)
    yield _row("phone file taken", _taken, [b"OKAY\0\0\0\0", seeds.SYNC[1]], EOFError, ValueError, sync.TransferRefused)
    yield _row("adb devices", _adb_devices, seeds.DEVICES_L, UsageError)


SLOTS = (
    TensorSpec(name="a", dtype="float32", shape=(1, 3)),
    TensorSpec(name="b", dtype="int8", shape=(8,)),
)
"""A tool's description of its outputs."""


def _output(data: bytes) -> object:
    """Read a file of outputs as every element type, the first bytes choosing the shape."""
    shape = tuple(data[:2])
    for dtype in ("float32", "string", "bfloat16", "object"):
        with suppress(CaseError):
            parse_array(ModelOutput(name="y", kind="tensor", dtype=dtype, shape=shape), data[2:])
    return parse_array(ModelOutput(name="y", kind="tensor", dtype="int64", shape=shape), data[2:])


class _Wire:
    """A socket that gives what was sent, in pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = BytesIO(data)

    def recv(self, count: int) -> bytes:
        """Give the next piece."""
        return self._data.read(min(count, 100))

    def settimeout(self, seconds: float | None) -> None:
        """Wait for nothing."""

    def sendall(self, data: bytes) -> None:
        """Take everything."""

    send = sendall

    def shutdown(self, how: int) -> None:
        """Be done."""

    def close(self) -> None:
        """Be done."""


class _Connection:
    def __init__(self, wire: _Wire) -> None:
        self.conn = wire


def _packets(data: bytes) -> object:
    for packets in (True, False):
        opened = stream.Stream(_Connection(_Wire(data)), packets=packets)
        with suppress(EOFError, ConnectionError):
            opened.read_line(float("inf"))
            opened.read_all(float("inf"))
    opened = stream.Stream(_Connection(_Wire(data)), packets=True)
    while True:
        opened.read_line(float("inf"))


def _transfer(data: bytes) -> object:
    fetched: Any = _Wire(data)
    return sync.fetch_file(fetched, "/data/local/tmp/x")


def _taken(data: bytes) -> object:
    wire: Any = _Wire(data)
    return sync._read_answer(wire)  # noqa: SLF001 - the pushing around it needs a file


class _Reader:
    """A stream that has all its bytes already."""

    def __init__(self, data: bytes) -> None:
        self._data = BytesIO(data)

    async def readexactly(self, count: int) -> bytes:
        """Give so many bytes."""
        data = self._data.read(count)
        if len(data) < count:
            raise EOFError("the link ended")
        return data


def _link_packets(data: bytes) -> object:
    reader: Any = _Reader(data)
    while True:
        with suppress(StopIteration):
            read_packet(reader).send(None)


class _Client(adbutils.AdbClient):  # type: ignore[misc] # adbutils has no types
    """An adb server with given answers."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._wire = _Wire(data)

    def make_connection(self, timeout: float | None = None) -> Any:  # noqa: ANN401, ARG002 - as the class above it
        """Connect to nobody."""
        connection = adbutils.AdbConnection.__new__(adbutils.AdbConnection)
        connection._AdbConnection__conn = self._wire  # noqa: SLF001 - its socket
        return connection


def _adb_devices(data: bytes) -> object:
    return attached.list_attached(_Client(data))


def _files() -> Iterator[Parser]:
    yield _row("model .onnx", parse_schema, [seeds.ONNX], ValueError, weight=3)
    yield _row("model .tflite", parse_litert, [seeds.LITERT], ValueError, weight=3)
    yield _row("model .pte", parse_executorch, [seeds.EXECUTORCH], ValueError, weight=3)
    yield _row(
        "file .onnx", lambda data: _in_a_file(data, lambda path: read_schema(str(path))), [seeds.ONNX], CaseError
    )
    yield _row(
        "file .tflite", lambda data: _in_a_file(data, lambda path: read_litert(str(path))), [seeds.LITERT], CaseError
    )
    yield _row(
        "file .pte",
        lambda data: _in_a_file(data, lambda path: read_executorch(str(path))),
        [seeds.EXECUTORCH],
        CaseError,
    )
    yield _row("file of a document", lambda data: _in_a_file(data, read_file), [seeds.document()], StoreError)
    yield _row("setup archive", _archive, [seeds.archive()], UsageError)
    yield _row("setup ELF file", _elf, [seeds.ELF, seeds.LFS], UsageError)
    stored = [seeds.document(), seeds.LFS]
    yield _row("store document", lambda data: decode(data, "x.json"), stored, StoreError, weight=2)
    yield _row("store heads", lambda data: decode_heads(data, "x.json"), stored, StoreError)
    yield _row("store outlines", lambda data: decode_outlines(data, "x.json"), stored, StoreError)
    yield _row("store document, used", _used, [seeds.document()], StoreError)
    yield _row("store file name", _word(naming.age_of), ["2026-11-29T20-15-03Z.2-9f3c.json"])
    yield _row("store label", _word(naming.safe_name), ["main", "../Main", "con.txt"])
    yield _row("store URL", _text(without_secrets), ["sftp://me:secret@host/runs?sig=abc&v=1"])
    yield _row(
        "store place",
        _word(lambda text: open_store(text, "/nowhere")),
        [".devperf", "file:///x", "memory://x"],
        UsageError,
    )
    yield _row("git status", _text(commit.parse_status), [seeds.GIT_STATUS])
    yield _row("JSON", _json, [seeds.XCODE], ValueError)


def _json(data: bytes) -> object:
    """Read it and keep nothing of it: tools write `NaN` and `Infinity`, and each reader refuses what it cannot use."""
    parse_json(data)
    return None


def _in_a_file(data: bytes, use: Callable[[Path], object]) -> object:
    with tempfile.TemporaryDirectory(prefix="devperf-fuzz-") as folder:
        path = Path(folder, "file")
        path.write_bytes(data)
        return use(path)


def _archive(data: bytes) -> object:
    def unpack(path: Path) -> object:
        return setup._from_aar(path, path.parent)  # noqa: SLF001 - what it is called by needs a compiler

    return _in_a_file(data, unpack)


def _elf(data: bytes) -> object:
    return _in_a_file(data, setup.elf_abi)


def _used(data: bytes) -> object:
    """Do with a document what every verb does: show it, compare it with itself, sum its noise up, write it again."""
    runs = decode(data, "x.json").runs
    shown = [as_text.render(Report(runs=(run,)), width=80, verbosity=1) for run in runs]
    for run in runs:
        baselines = index(runs, run.device.fingerprint)
        for record in run.cases:
            compared = compare(record, baselines.get(record.id), Policy(confirm=False))
            shown.append(failure_text(record))
            shown.append(compared.reason or "")
            noises = {record.id: noise((record, record, record), Policy())}
            shown.append(as_noise.render(noises, width=80))
    with suppress(StoreError):
        encode(Document(runs=runs))
    return None


def _network() -> Iterator[Parser]:
    report = seeds.as_json(seeds.REPORT)
    final = f'{{"run": "r1", "cases": [{report}]}}'
    yield _row("wire report", lambda data: parse_body(data, CaseReport), [report], CaseError, weight=3)
    yield _row("wire begin", lambda data: parse_body(data, Begun), ['{"run": "r1", "case": "sort"}'], CaseError)
    yield _row("wire end", lambda data: parse_body(data, FinalReport), [final], CaseError)
    yield _row("collector request", _request, seeds.REQUESTS, weight=2)
    yield _row("turns introduction", _introduction, [seeds.HELLO], weight=2)
    yield _row("handover", _handover, [seeds.HANDOVER], UsageError)
    yield _row("interpreter probe", _text(parse_probe), [seeds.PROBED])


def _handover(data: bytes) -> object:
    """Read it and keep nothing of it: its numbers are this project's own."""
    parse_handover(data)
    return None


class _Receiver:
    """The receiver of the requests."""

    token = "token"

    def __init__(self) -> None:
        self.refusals: list[str] = []

    def task(self) -> Task:
        """Return any task."""
        return Task(run="r1", rounds=1, iterations=1, warmup=0)

    def begin(self, begun: Begun) -> bool:
        """Take it."""
        return bool(begun.case)

    def take(self, report: CaseReport) -> bool:
        """Take it."""
        return bool(report.case)

    def end(self, final: FinalReport) -> bool:
        """Take it."""
        return bool(final.cases)


class _Phone:
    """An app's connection to the collector."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.answer = BytesIO()

    def makefile(self, mode: str, *_: object) -> BytesIO:
        """Give what the app sent."""
        assert mode == "rb"
        return BytesIO(self._data)

    def sendall(self, data: bytes) -> None:
        """Take the answer."""
        self.answer.write(data)

    def settimeout(self, seconds: float) -> None:
        """Wait for nothing."""


class _UnboundServer(IntakeServer):
    """The receiver's server without a socket."""

    def server_bind(self) -> None:
        """Bind nothing."""

    def server_activate(self) -> None:
        """Listen to nothing."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver())
        self.socket.close()


def _request(data: bytes) -> object:
    server = _UnboundServer()
    phone = _Phone(data)
    from pytest_devperf.targets.app.intake import _Request

    handled: Any = _Request
    handled(phone, ("127.0.0.1", 1), server)
    return None


class _Introduced(Lobby):
    def __init__(self) -> None:
        self._secret = "ssss"


def _introduction(data: bytes) -> object:
    return _Introduced()._side(data)  # noqa: SLF001 - what reads the line


def _options() -> Iterator[Parser]:
    refused = (ValueError, UsageError, pytest.UsageError, argparse.ArgumentTypeError)
    words: dict[str, tuple[Callable[[str], object], Sequence[str]]] = {
        "count": (options.parse_count, ["12"]),
        "repetitions": (options.parse_repetitions, ["5"]),
        "not negative": (options.parse_not_negative, ["0"]),
        "seed": (options.parse_seed, ["123456"]),
        "seconds": (options.parse_seconds, ["0.5"]),
        "budget": (options.parse_budget, ["60"]),
        "fraction": (options.parse_fraction, ["0.03"]),
        "positive": (options.parse_positive, ["30"]),
        "percent": (options.parse_percent, ["5", "2.5%"]),
        "choice": (options.parse_choice("quick", "full"), ["quick"]),
        "cooldown": (options.parse_cooldown, ["auto", "temp=37"]),
        "bool": (options.parse_bool, ["true"]),
        "counting": (options.parse_counting, ["only", "yes"]),
        "names": (options.parse_names, ["a,b"]),
        "tolerance": (policy.parse_tolerance, ["load=40%", "2.5%"]),
        "tolerance of a session": (options.parse_tolerance, ["load=40%", "2.5%"]),
        "wait of a command": (cooldown.parse_cooldown, ["auto", "temp=37"]),
        "seconds of a command": (seconds, ["30"]),
        "affinity": (lambda text: parse_cpus(text, {"big": (4,)}, 8), ["0-3,6", "big"]),
        "simulated phone": (parse_spec, ["sim:motorola:disk-full"]),
    }
    for name, (parse, texts) in words.items():
        yield _row(f"option {name}", _word(parse), texts, *refused)


def _own_files() -> Iterator[Parser]:
    """Files of this package that a killed process may have torn, and those that valgrind and onnxruntime write."""
    trace = """[
{"cat": "Session", "dur": 9, "name": "model_run", "ts": 1, "args": {}},
{"cat": "Node", "dur": 5, "name": "Add_1_kernel_time", "ts": 2, "args": {"op_name": "Add", "node_index": "3"}}]"""
    yield _row("callgrind total", parse_total, ["fn=(1) main\n1 20\n\ntotals: 20\n"])
    yield _row("onnxruntime trace", _text(read_trace), [trace], ValueError)
    yield _row("log header", lambda data: decode_header(data, "x"), ["{}"], StoreError)
    yield _row("log entry", lambda data: decode_entry(data, "x"), ["{}"], StoreError)
    yield _row(
        "log", lambda data: _in_a_file(data, read_log), [MAGIC + frame_entry(b"one") + frame_entry(b"two")], StoreError
    )
    yield _row("index entry", decode_index_entry, ["{}"])


PARSERS: tuple[Parser, ...] = (
    *(*_tools(), *_sensors(), *_devices(), *_files(), *_own_files()),
    *(*_network(), *_options()),
)
"""All of them."""
