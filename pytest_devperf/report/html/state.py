"""What a case was measured under, beside its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_devperf.record.record import Commit, Record
from pytest_devperf.report.header import commit_line
from pytest_devperf.sensor.run_context import RunContext

_KHZ_PER_MHZ = 1000

_NAMES: Mapping[str, str] = {
    "os": "operating system",
    "driver": "driver",
    "ep": "execution provider",
    "sdk": "runtime",
    "python": "Python",
}

_CLOSE_C = 3.0
"""Temperatures closer than this are alike: sensors of one device differ by as much."""

_CLOSE_PERCENT = 10.0
"""Shares closer than this are alike: the load of an idle desktop moves by as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side's facts."""

    record: Record
    commit: Commit | None
    taken_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of both sides, as people write it; None: not known."""

    name: str
    then: str | None
    now: str | None
    differs: bool = False


def facts(now: Side, then: Side | None) -> Sequence[Fact]:
    """Set the facts of both sides beside each other; what neither knows is left out."""
    before = dict(_facts(then)) if then is not None else {}
    after = dict(_facts(now))
    found = [
        Fact(
            name=name,
            then=_words(before.get(name)),
            now=_words(after.get(name)),
            differs=then is not None and _differ(before.get(name), after.get(name)),
        )
        for name in dict.fromkeys((*after, *before))
    ]
    return [fact for fact in found if fact.then is not None or fact.now is not None]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A number that is never twice the same."""

    value: float
    unit: str
    close: float
    """How far two readings may lie apart and be alike."""


_Value = str | bool | _Reading | None


def _facts(side: Side) -> Iterator[tuple[str, _Value]]:
    record, context = side.record, side.record.run_context
    yield "taken at", _Moment(side.taken_at)
    yield "commit", commit_line(side.commit) or None
    yield from _state(context)
    yield from _load(context)
    for key, value in context.env.items():
        yield _NAMES.get(key, key), value
    yield "anchor kernel", context.anchor
    yield "iterations per round", None if record.iterations is None else str(record.iterations)
    yield "process starts", None if record.processes is None else str(record.processes)
    loops = {metric.inner_loops for metric in record.metrics if metric.main and metric.inner_loops}
    yield "inner loops", ", ".join(map(str, loops)) or None
    yield "workload", record.workload.fingerprint or None
    yield "model", record.workload.model_sha256 and record.workload.model_sha256[:12]


class _Moment(str):
    """A time, which always differs and never matters."""

    __slots__ = ()


def _state(context: RunContext) -> Iterator[tuple[str, _Value]]:
    clocks = context.clock_state
    yield "temperature at the start", _reading(context.temp_start_c, "°C", _CLOSE_C)
    yield "highest temperature", _reading(context.temp_max_c, "°C", _CLOSE_C)
    for name, celsius in context.sensors_max_c.items():
        yield f"highest temperature of {name}", _reading(celsius, "°C", _CLOSE_C)
    yield "throttled", context.throttled
    yield "clocks pinned", clocks.pinned
    caps = sorted(clocks.max_khz.items())
    yield "highest clock", ", ".join(f"{name} {khz / _KHZ_PER_MHZ:.0f} MHz" for name, khz in caps) or None
    yield "governor", clocks.governor
    yield "power plan", clocks.power_plan
    yield "CPUs", context.cpu_set.words if context.cpu_set is not None else None
    yield "power", context.power_state
    yield "battery", _reading(context.battery_pct, "%", _CLOSE_PERCENT)
    yield "charging", context.charging
    yield "sensors overridden", context.faked or None


def _load(context: RunContext) -> Iterator[tuple[str, _Value]]:
    during = context.during
    yield "CPU used before the run", _reading(context.prerun_cpu_pct, "%", _CLOSE_PERCENT)
    yield "free memory before the run", _reading(context.prerun_free_ram_mb, "MB", float("inf"))
    yield "CPU used meanwhile", _reading(during.mean_cpu_pct, "%", _CLOSE_PERCENT)
    yield "longest wait for a CPU in a round", _reading(during.waited_pct, "%", _CLOSE_PERCENT)
    yield "use of the accelerator", _reading(during.adapter_util_pct, "%", _CLOSE_PERCENT)


def _reading(value: float | None, unit: str, close: float) -> _Reading | None:
    return None if value is None else _Reading(value, unit, close)


def _differ(then: _Value, now: _Value) -> bool:
    if isinstance(now, _Moment) or isinstance(then, _Moment):
        return False
    if isinstance(then, _Reading) and isinstance(now, _Reading):
        return abs(then.value - now.value) > then.close
    return then != now


def _words(value: _Value) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, _Reading):
        return f"{value.value:.{0 if value.unit == 'MB' else 1}f} {value.unit}"
    return value
