"""A model that a runtime of this machine executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Call, Model
from pytest_devperf.errors import CaseError, DevperfError
from pytest_devperf.targets.host.memory.footprint import Footprint
from pytest_devperf.targets.host.meter import tick_ns, time_anchor
from pytest_devperf.targets.host.models.runtime import LoadedModel, PreparedModel
from pytest_devperf.targets.host.once import call_once
from pytest_devperf.targets.host.timing_loop import TimingLoop
from pytest_devperf.targets.protocol import Clock, Memory, RoundContext

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Self

    from pytest_devperf.explain.profile import Profile


class ModelRunner:
    """A model that has been loaded and executed once."""

    loops = True
    """An execution has no setup: it can be repeated within one iteration."""

    def __init__(self, model: Model, prepared: PreparedModel, *, clock: Clock) -> None:
        self._name = Path(model.path).name
        self._prepared = prepared
        self._clock = clock
        self._takes_memory = model.memory
        self._footprint: Footprint | None = None
        self._up: LoadedModel | None = None
        self._loop = TimingLoop(Call(function=self._gone), clock.now_ns)
        self.load_ns: int | None = None
        self.tick_ns = tick_ns(clock.now_ns)

    @property
    def env(self) -> Mapping[str, str | None]:
        """`ep` and `sdk` that the model really runs with; empty while it is not loaded."""
        return self._up.env if self._up is not None else {}

    def __enter__(self) -> Self:
        """Load the model, pass its inputs, and execute it once."""
        try:
            self._bring_up()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, DevperfError) or not isinstance(error, Exception):
                raise
            message = (str(error).strip().splitlines() or [type(error).__name__])[0][:500]
            raise CaseError(f"{self._name} cannot be run here ({message})", self._prepared.remedy) from error
        return self

    def __exit__(self, *_: object) -> None:
        """Unload the model."""
        self._dispose()
        if self._footprint is not None:
            self._footprint.close()

    def _bring_up(self) -> None:
        self._footprint = Footprint() if self._takes_memory else None
        started = self._clock.now_ns()
        handle = self._prepared.load()
        self.load_ns = self._clock.now_ns() - started
        if self._footprint is not None:
            self._footprint.note_loaded()
        self._up = self._prepared.bind(handle)
        self._loop = TimingLoop(self.call, self._clock.now_ns)
        call_once(self.call)

    @property
    def call(self) -> Call:
        """The execution, as a call."""
        if self._up is None:
            raise CaseError(f"{self._name} has been taken down", "ask for its execution before its memory")
        return Call(function=self._up.function, args=self._up.args)

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, of the runtime only; inputs and outputs stay bound."""
        samples, fill = self._loop.prepare(iterations, inner_loops)
        with self._loop.timing():
            fill()
        return self._loop.finish(samples, inner_loops)

    def anchor(self) -> int | None:
        """Time the anchor kernel once, in ns."""
        return time_anchor(self._clock.now_ns)

    def memory(self, iterations: int) -> Memory | None:
        """Measure memory; the model is unloaded for `disposed`, so nothing can run afterwards."""
        if self._footprint is None:
            return None
        return self._footprint.take(lambda: self.run(iterations, 1), self._dispose)

    def profile(self, metric: str, iterations: int) -> Profile:
        """Time the nodes of the model in sessions of their own."""
        from pytest_devperf.targets.traced import profile_nodes

        return profile_nodes(
            self.run, self._prepared.trace, metric=metric, iterations=iterations, runtime=str(self.env.get("sdk") or "")
        )

    def round_context(self) -> RoundContext:
        """Return the context of the latest run."""
        return self._loop.round_context

    def result(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return copies of the latest outputs, by name."""
        if self._up is None:
            raise CaseError(f"{self._name} has been unloaded", "read its outputs before its memory is measured")
        return dict(self._up.outputs())

    def _dispose(self) -> None:
        self._loop = TimingLoop(Call(function=self._gone), self._clock.now_ns)
        self._up = None

    def _gone(self) -> None:
        raise CaseError(f"{self._name} has been unloaded", "its memory is measured at the end of a process start")
