"""The `benchmark` fixture, with the interface of pytest-benchmark's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_devperf.case.function import refuse_unfinished
from pytest_devperf.case.workload import Call, Repeats
from pytest_devperf.compat.options import FIXTURE
from pytest_devperf.compat.stats import Metadata
from pytest_devperf.errors import CaseError

if TYPE_CHECKING:
    from pytest_devperf.compat.timing import Timing

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception goes from the test to where it was raised.


class FixtureAlreadyUsed(Exception):
    """A test used the fixture twice."""


class BenchmarkFixture:
    """Measures the function that a test passes to it; in a session without `--devperf` it calls it once."""

    def __init__(self, node: pytest.Item, timing: Timing) -> None:
        """Know the test.

        Args:
            node: The test.
            timing: Measures for it.
        """
        marker = node.get_closest_marker(FIXTURE)
        callspec = getattr(node, "callspec", None)
        self.name = node.name
        self.fullname = node.nodeid
        self.group: str | None = marker.kwargs.get("group") if marker is not None else None
        self.param: str | None = callspec.id if callspec is not None else None
        self.params: Mapping[str, Any] | None = callspec.params if callspec is not None else None
        self.extra_info: dict[str, Any] = {}
        self.disabled = not timing.measures
        self.has_error = False
        self.skipped = False
        self._timing = timing
        self._mode: str | None = None
        self._stats: Metadata | None = None
        self._call_once: Callable[[], object] | None = None

    @property
    def enabled(self) -> bool:
        """Whether this session measures."""
        return not self.disabled

    @property
    def stats(self) -> Metadata | None:
        """Statistics of the samples of this process start; None before the call, and without `--devperf`."""
        if self._stats is None and self._call_once is not None:
            data, iterations = self._timing.samples_s()
            if not data:
                # This start takes no rounds, and the test may use a number all the same.
                began_s = perf_counter()
                self._call_once()
                data = [perf_counter() - began_s]
            self._stats = Metadata(data, iterations, self._facts())
        return self._stats

    def __call__(self, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Measure a call, and return what it returned."""
        self._claim("benchmark(...)")
        with _Watch(self):
            result = self._timing.time(function_to_benchmark, args, kwargs)
        if self.enabled:
            self._call_once = lambda: function_to_benchmark(*args, **kwargs)
        return result

    def pedantic(  # noqa: PLR0913, PLR0917 - pytest-benchmark's own arguments
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
        teardown: Callable[..., object] | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:  # noqa: ANN401 - whatever the call returns
        """Measure a call exactly as often as the test requests, in each process start.

        Args:
            target: The function.
            args: Its arguments.
            kwargs: Its keyword arguments.
            setup: Called untimed before every round; may return arguments and keyword arguments for it.
            teardown: Called untimed after every round, with the arguments of the target.
            rounds: Timed rounds.
            warmup_rounds: Unrecorded rounds before them.
            iterations: Calls in each round.

        Returns:
            What the last call returned.
        """
        self._claim("benchmark.pedantic(...)")
        with _Watch(self):
            _check_counts(iterations, rounds, warmup_rounds, setup)
            work = _Pedantic(target, args, kwargs or {}, setup, teardown)
            if self.disabled:
                return work.once(tear_down=False)
            repeats = Repeats(samples=rounds, inner_loops=iterations, warmup=warmup_rounds)
            result = work.measure(self._timing, repeats)
            self._call_once = work.once
            return result

    def weave(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to replace a function by its measurement.

        Raises:
            CaseError: Always.
        """
        raise CaseError(
            "benchmark.weave and benchmark.patch are not supported: they replace a function while other code runs",
            "call the function through the fixture: benchmark(function, ...)",
        )

    patch = weave

    def _claim(self, mode: str) -> None:
        if self._mode is not None:
            self.has_error = True
            raise FixtureAlreadyUsed(f"Fixture can only be used once. Previously it was used in {self._mode} mode.")
        self._mode = mode

    def _facts(self) -> dict[str, Any]:
        names = ("group", "name", "fullname", "params", "param", "extra_info")
        return {name: getattr(self, name) for name in names}


class _Watch:
    """Notes that a measurement ended with an exception."""

    def __init__(self, fixture: BenchmarkFixture) -> None:
        self._fixture = fixture

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Note an exception."""
        self._fixture.has_error = self._fixture.has_error or kind is not None


def _check_counts(iterations: object, rounds: object, warmup_rounds: object, setup: object) -> None:
    """Refuse what pytest-benchmark refuses, in its words.

    Raises:
        ValueError: A number cannot be used, or not with a setup.
    """
    counts = (("iterations", iterations, 1), ("rounds", rounds, 1), ("warmup_rounds", warmup_rounds, 0))
    for name, count, least in counts:
        if not isinstance(count, int) or count < least:
            raise ValueError(f"Must have positive int for `{name}`.")
    if setup and isinstance(iterations, int) and iterations > 1:
        raise ValueError("Can't use more than 1 `iterations` with a `setup` function.")


class _Pedantic:
    """A call with what happens before and after each round."""

    def __init__(
        self,
        target: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        setup: Callable[[], Any] | None,
        teardown: Callable[..., object] | None,
    ) -> None:
        self._target = target
        self._given = (args, kwargs)
        self._setup = setup
        self._teardown = teardown
        self._current: tuple[Any, Any] | None = None
        """Arguments of the round that was begun and not torn down yet."""
        self._began = False
        """Whether a round has begun."""
        self._results: list[Any] = []
        """What the last call returned, if it is known."""

    def measure(self, timing: Timing, repeats: Repeats) -> Any:  # noqa: ANN401 - whatever the call returns
        """Measure, and return what the last call returned."""
        args, kwargs = self._given
        around = self._setup is not None or self._teardown is not None
        if around:
            self._current = self._arguments()  # a setup that cannot be used ends the test before it is measured
        single = repeats.inner_loops == 1
        timing.repeat(
            Call(
                function=self._call if around and single else self._target,
                args=tuple(args),
                kwargs=dict(kwargs),
                setup=self._begin_round if around else None,
                sync=self._keep if single and not around else None,
            ),
            repeats,
        )
        self._end_round()
        result = self._results[-1] if self._results else self.once()
        refuse_unfinished(self._target, result)
        return result

    def once(self, *, tear_down: bool = True) -> Any:  # noqa: ANN401 - whatever the call returns
        """Make one call with its own setup and teardown."""
        args, kwargs = self._arguments()
        result = self._target(*args, **kwargs)
        if self._teardown is not None and tear_down:
            self._teardown(*args, **kwargs)
        return result

    def _arguments(self) -> tuple[Any, Any]:
        returned = self._setup() if self._setup is not None else None
        if not returned:
            return self._given
        if any(self._given):
            raise TypeError("Can't use `args` or `kwargs` if `setup` returns the arguments.")
        args, kwargs = returned
        return args, kwargs

    def _begin_round(self) -> None:
        if self._began:
            self._end_round()
            self._current = self._arguments()
        self._began = True

    def _end_round(self) -> None:
        if self._current is None:
            return
        (args, kwargs), self._current = self._current, None
        if self._teardown is not None:
            self._teardown(*args, **kwargs)

    def _call(self, *_: Any, **__: Any) -> None:
        """Call the target with the arguments of this round."""
        assert self._current is not None
        args, kwargs = self._current
        self._results[:] = (self._target(*args, **kwargs),)

    def _keep(self, result: Any) -> None:  # noqa: ANN401 - whatever the call returns
        self._results[:] = (result,)
