"""What plugins and tests write, as type checkers have to see it. Never run."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from typing_extensions import assert_type

from pytest_devperf import (
    Answering,
    App,
    Baseline,
    Benchmark,
    Call,
    Change,
    Clock,
    Closing,
    Command,
    Comparison,
    Context,
    ContextReporting,
    Device,
    Document,
    GenerationStore,
    LabelSummary,
    Memory,
    Model,
    Operator,
    OperatorReader,
    Output,
    Policy,
    Reader,
    Record,
    Report,
    RoundContext,
    Run,
    RunContext,
    Runner,
    SelfWarming,
    Sensor,
    Shell,
    ShellOffering,
    SimPhone,
    Store,
    Survey,
    Surveying,
    Target,
    Ticking,
    Unsupported,
    Value,
    Workload,
    decode,
    encode,
    parse_output,
)

# -- a test ---------------------------------------------------------------------------------------


def double(number: int) -> int:
    return 2 * number


async def fetch(url: str) -> bytes:
    return url.encode()


class Detector:
    def __init__(self, path: str) -> None:
        self.path = path


def test_results_keep_their_types(devperf: Benchmark) -> None:
    assert_type(devperf(double, 2), int)
    assert_type(devperf.measure("again", double, 2, setup=lambda: None), int)
    assert_type(devperf.load(Detector, "model.onnx"), Detector)
    assert_type(devperf.model("model.onnx", dims={"batch": 1}), Mapping[str, Any])
    devperf.command(["./tool", "{iterations}"], read=parse_frames)
    devperf.command(["./tool"], read="google-benchmark", units={"items": "1"})
    assert_type(devperf.app("com.example.bench", cases=["start"]), tuple[str, ...])
    devperf.record("boxes_per_s", 812.0, unit="1/s", better="higher")
    devperf.workload(boxes=12)


async def test_a_coroutine_is_awaited(devperf: Benchmark) -> None:
    assert_type(await devperf(fetch, "x"), bytes)


# -- a reader -------------------------------------------------------------------------------------


def parse_frames(text: str) -> Output:
    samples_ns = tuple(float(line) for line in text.splitlines())
    return Output(samples_ns=samples_ns, values={"dropped": Value(value=2, unit="frames")})


reader: Reader = parse_frames
explaining: Reader = OperatorReader(
    parse=parse_frames, parse_operators=lambda text: [Operator("pass", text, 1.0)], options=("--passes",)
)
assert_type(parse_output("1\n2\n", "lines"), Output)
assert_type(parse_output("1\n2\n", parse_frames, {"dropped": "frames"}).samples_ns, tuple[float, ...])

# -- a target -------------------------------------------------------------------------------------


class BoardRunner:
    load_ns: int | None = None
    tick_ns = 1.0

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        return [float(inner_loops)] * iterations

    def anchor(self) -> int | None:
        return None

    def memory(self, iterations: int) -> Memory | None:
        return Memory(baseline=0, loaded=None, peak=iterations)

    def warm_up(self, iterations: int) -> None: ...

    def round_context(self) -> RoundContext:
        return RoundContext(temp_c=41.0, values={"dropped": (2.0, "frames", "lower")})

    def result(self) -> str:
        return ""


class Board:
    def __init__(self) -> None:
        self.device = Device(kind="board", model="one", cores=4)

    def look(self) -> Context:
        return Context(at_ns=0, temp_c=41.0)

    @contextmanager
    def start(self, workload: Workload, process: int) -> Generator[Runner, None, None]:
        assert_type(process, int)
        if isinstance(workload, Call):
            raise Unsupported("a board runs no Python", "use devperf.command")
        assert_type(workload, Model | Command | App)
        yield BoardRunner()

    def survey(self, workload: Model) -> Survey:
        return Survey(methods=(workload.method,))

    def shell(self, command: str, *, timeout_s: float = 10.0) -> str:
        return f"{command}, within {timeout_s} s"

    def close(self) -> None: ...


runner: Runner = BoardRunner()
ticking: Ticking = BoardRunner()
warming: SelfWarming = BoardRunner()
reporting: ContextReporting = BoardRunner()
answering: Answering = BoardRunner()
target: Target = Board()
surveying: Surveying = Board()
shell_offering: ShellOffering = Board()
closing: Closing = Board()
with target.start(Command(argv=("true",)), 0) as started:
    assert_type(started.run(30, 1), Sequence[float])
assert_type(target.device.fingerprint, str)


class StoppedClock:
    def now_ns(self) -> int:
        return 0

    def sleep(self, seconds: float) -> None: ...


clock: Clock = StoppedClock()

# -- a store --------------------------------------------------------------------------------------


class Shelf:
    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def check_writable(self) -> None: ...

    def save(self, run: Run) -> str:
        self.kept.append(encode(Document(runs=(run,))))
        return "kept"

    def save_in_generation(self, run: Run, *, append: bool) -> str:
        return self.save(run) if append else ""

    def label_summaries(self) -> Sequence[LabelSummary]:
        return [LabelSummary(device=run.device, label="main", runs=1, newest=run.taken_at) for run in self.all()]

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> Sequence[Run]:
        return [run for run in self.all() if (run.device.fingerprint, run.label) == (fingerprint, label)]

    def all(self) -> list[Run]:
        return [run for data in self.kept for run in decode(data, "shelf").runs]


store: Store = Shelf()
generations: GenerationStore = Shelf()

# -- hooks ----------------------------------------------------------------------------------------


def read_room(shell: Shell) -> float | None:
    return float(shell("cat /run/room")) if shell("ls /run/room") else None


def pytest_devperf_clock(config: pytest.Config) -> Clock | None:
    return StoppedClock() if config.getini("stopped") else None


def pytest_devperf_make_target(config: pytest.Config, spec: str) -> Target | None:
    return Board() if spec == "board" else None


def pytest_devperf_make_store(config: pytest.Config, spec: str) -> Store | None:
    return Shelf() if spec == "shelf" else None


def pytest_devperf_simulated_phone(config: pytest.Config, phone: SimPhone) -> None:
    phone.slow_down(1.25)


def pytest_devperf_sensors(config: pytest.Config, target: Target) -> Mapping[str, Sensor] | None:
    return {"room": read_room, "unknown": lambda shell: None}


def pytest_devperf_compare(
    config: pytest.Config, record: Record, baseline: Baseline, policy: Policy
) -> Comparison | None:
    assert_type(policy.tolerance, Mapping[str, float])
    assert_type(baseline.runs[0].record, Record)
    change = Change(metric=record.metrics[0].name, verdict="within_noise")
    return Comparison(verdict="within_noise", changes=(change,))


def pytest_devperf_recorded(config: pytest.Config, record: Record) -> None:
    assert_type(record.run_context, RunContext)
    assert_type(record.run_context.temp_max_c, float | None)


def pytest_devperf_report(config: pytest.Config, report: Report) -> None:
    assert_type(report.counts, Mapping[str, int])
    assert_type([run.label for run in report.runs], list[str | None])
