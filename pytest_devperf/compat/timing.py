"""The measuring behind the `benchmark` fixture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_devperf.case.function import name_of, what_it_gives
from pytest_devperf.case.workload import Call, Repeats
from pytest_devperf.errors import CaseError
from pytest_devperf.metric import LATENCY, NS_PER_S
from pytest_devperf.plugin.fixture import Benchmark
from pytest_devperf.session.starts.meters.once import Once

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception goes from the test to where it was raised.


class Timing(Benchmark):
    """Measures the one call of a test that uses pytest-benchmark's fixture."""

    @property
    def measures(self) -> bool:
        """Whether this session measures; if not, a call is made once."""
        return not isinstance(self._meter, Once)

    def time(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Measure a call by the case's plan, and return what its first call returned."""
        if not self.measures:
            return function(*args, **kwargs)
        self._refuse_generators(function)
        return self(function, *args, **kwargs)

    def repeat(self, call: Call, repeats: Repeats) -> None:
        """Measure a call exactly as often as a test requests."""
        self._refuse_generators(call.function)
        if what_it_gives(call.function) == "coroutine":
            name = name_of(call.function)
            raise CaseError(
                f"{self._workloads.case_id}: {name} is a coroutine function, so only its creation would be timed",
                f"pass a function that runs it, or use benchmark({name}, ...)",
            )
        self._claim(LATENCY)
        self._run(LATENCY, replace(call, repeats=repeats))

    def samples_s(self) -> tuple[list[float], int]:
        """Return the samples that this process start took, in seconds per call, and the calls in each of them."""
        assert not isinstance(self._meter, Once)
        found = [each.start_result for each in self._meter.bench.start.timed if each.metric.name == LATENCY]
        data = [ns / NS_PER_S for result in found for taken in result.rounds for ns in taken.samples_ns]
        return data, found[0].inner_loops if found else 1

    def describe(self, group: str | None, extra_info: Mapping[str, Any]) -> None:
        """Keep the group and the facts of a benchmark beside the measurement."""
        if not isinstance(self._meter, Once):
            self._meter.bench.notes.describe(group, extra_info)

    def _refuse_generators(self, function: Callable[..., Any]) -> None:
        if what_it_gives(function) in {"generator", "async generator"}:
            name = name_of(function)
            raise CaseError(
                f"{self._workloads.case_id}: {name} returns a generator, so only its creation would be timed",
                f"pass a function that exhausts it: benchmark(lambda: list({name}(...)))",
            )
