"""Mistakes that type checkers have to find: each `ignore` must be needed. Never run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest_devperf
from pytest_devperf import (
    Benchmark,
    Call,
    Change,
    Command,
    Comparison,
    Context,
    Device,
    Memory,
    Output,
    Run,
    Runner,
    Sensor,
    Store,
    Target,
)


def double(number: int) -> int:
    return 2 * number


def test_mistakes_of_a_test(devperf: Benchmark) -> None:
    text: str = devperf(double, 2)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    devperf("double")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    devperf.measure(double, 2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    devperf.record("boxes", "12")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    devperf.record("boxes", 12, better="more")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    devperf.benchmark(double, text)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


Call(double)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Command(argv="ls")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Output(samples_ns=("1",))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Change(metric="latency", verdict="slower")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Comparison()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Device(kind="board").model = "two"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


class TimesNothing:
    load_ns: int | None = None

    def run(self, iterations: int) -> Sequence[float]:
        return [1.0] * iterations

    def anchor(self) -> int | None:
        return None

    def memory(self, iterations: int) -> Memory | None:
        return None


runner: Runner = TimesNothing()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class Blind:
    device = Device(kind="board")

    def look(self) -> Context | None:
        return None


target: Target = Blind()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class Forgetful:
    def save(self, run: Run) -> None: ...


store: Store = Forgetful()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


def read_text(_: object) -> str:
    return "41"


sensor: Sensor = read_text  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
pytest_devperf.nonsense(double)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
