"""The protocols of targets and runners: those that all implement, and optional ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pytest_devperf.case.workload import App, Model, Workload
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import Device

if TYPE_CHECKING:
    from pytest_devperf.explain.profile import Profile
    from pytest_devperf.targets.app.wire import CaseReport, Task
    from pytest_devperf.targets.survey import Survey


class Clock(Protocol):
    """The clock that everything in this process uses to wait and to time."""

    def now_ns(self) -> int:
        """Read a monotonic clock."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Sizes of the measured process in bytes."""

    baseline: int
    """Before the workload was loaded."""
    loaded: int | None
    """With the workload loaded, before its first iteration."""
    peak: int
    """Highest size since `baseline`."""
    disposed: int | None = None
    """After the workload was unloaded."""
    unseen_children: bool = False
    """Whether a child process ended whose memory was not read, or not just before its end."""


class Runner(Protocol):
    """A loaded workload that can be run."""

    load_ns: int | None
    """Time to load the workload; None if it loads nothing."""

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, already divided by the inner loops, timed on the device."""
        ...

    def anchor(self) -> int | None:
        """Time the fixed kernel once on the device, in ns."""
        ...

    def memory(self, iterations: int) -> Memory | None:
        """Measure memory in a separate pass."""
        ...


class Target(Protocol):
    """A device that runs workloads.

    If a target starts its own processes (a phone, a virtual device), this process controls every start; only the
    host's later starts are fresh interpreters.
    """

    device: Device

    def look(self) -> Context:
        """Read the sensors in one round trip."""
        ...

    def start(self, workload: Workload, process: int) -> AbstractContextManager[Runner]:
        """Load the workload in a new process, yield its runner, unload the workload.

        Raises:
            Unsupported: This kind of workload cannot run here.
            CaseError: The workload is wrong (no such file, wrong shape).
            TargetError: The device is gone.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundContext:
    """The circumstances of a round."""

    cpu_ns: int | None = None
    """CPU time of the whole measuring process."""
    wall_ns: int | None = None
    """Wall time of the whole round."""
    waited_ns: int | None = None
    """Time in which the measuring thread was ready but had no CPU."""
    slept: bool = False
    """Whether the machine slept meanwhile."""
    throttled: bool | None = None
    """Whether the device throttled meanwhile."""
    temp_c: float | None = None
    """Highest temperature meanwhile."""
    cpu_pct: float | None = None
    """CPU used by everything on the device since the sensors were last read; None if `look` reports it."""
    used_ram_mb: float | None = None
    """Most memory in use on the device meanwhile; None if `look` reports it."""
    clock_khz: int | None = None
    """The lowest cap on the clock meanwhile: the highest frequency that any processor was allowed."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Hardware counters of the thread that ran the whole round, by name; empty if none can be read."""
    also: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Further series in ns of the same round, by name (of a tool that prints several)."""
    values: Mapping[str, tuple[float, str, str]] = field(default_factory=dict)
    """Values of the same round: name -> (value, unit, `lower` or `higher`)."""
    left: str | None = None
    """Processes that a program left running, which were then ended."""


@runtime_checkable
class ContextReporting(Protocol):
    """A runner that reports the context of its latest run."""

    def round_context(self) -> RoundContext:
        """Return the context of the latest run."""
        ...


@runtime_checkable
class Answering(Protocol):
    """A runner that returns the workload's result."""

    def result(self) -> Any:  # noqa: ANN401 - whatever the workload returns
        """Return the result of the first unrecorded call, or a model's latest outputs by name."""
        ...


@runtime_checkable
class Describing(Protocol):
    """A runner that knows the software that runs its workload once this is loaded."""

    env: Mapping[str, str | None]
    """`sdk` and the like, with the same keys as in a survey."""


@runtime_checkable
class Profiling(Protocol):
    """A runner that knows where the time of its workload goes."""

    def profile(self, metric: str, iterations: int) -> Profile | Awaitable[Profile]:
        """Profile the workload in passes of their own.

        Args:
            metric: The metric that it is measured as.
            iterations: Iterations of each pass.
        """
        ...


@runtime_checkable
class Ticking(Protocol):
    """A runner that knows the step of its clock."""

    tick_ns: float
    """Smallest non-zero difference of consecutive clock reads."""


@runtime_checkable
class Looping(Protocol):
    """A runner that knows whether its workload can be repeated within one iteration."""

    loops: bool
    """False: `run` takes `inner_loops=1` alone (a setup before every iteration, a stream)."""


@runtime_checkable
class SelfWarming(Protocol):
    """A runner that warms up by itself and takes no inner loops (a native tool)."""

    def warm_up(self, iterations: int) -> None:
        """Set the number of unrecorded iterations that each run makes first."""
        ...


@runtime_checkable
class Surveying(Protocol):
    """A target that can read a model's methods and shapes."""

    def survey(self, workload: Model) -> Survey:
        """Read the model's schema."""
        ...


@runtime_checkable
class ShellOffering(Protocol):
    """A target whose device has a shell that sensors of plugins may use."""

    def shell(self, command: str, /) -> str:
        """Run a command on the device and return what it printed.

        Raises:
            DevperfError: The command failed, or the device is gone.
        """
        ...


@runtime_checkable
class Closing(Protocol):
    """A target that changes something on its device and undoes it."""

    def close(self) -> None:
        """Undo all changes."""
        ...


@runtime_checkable
class IdleWatching(Protocol):
    """A target that can measure its load while nothing is measured."""

    def watch_idle(self) -> Context:
        """Read the sensors; `cpu_pct` is the CPU that everything used for a moment in which nothing was measured.

        Raises:
            TargetError: The device is gone.
        """
        ...


@runtime_checkable
class Hosting(Protocol):
    """A target that runs apps that host their own cases."""

    def host(self, app: App, task: Task, *, build: bool, announce: Callable[[str], None]) -> Iterator[CaseReport]:
        """Start the app as one process start, yield the report of each case when it arrives, end the app.

        Args:
            app: The app.
            task: Its task; the `run` in it is new.
            build: Whether to run the app's `build` command first.
            announce: Shows a sentence to the user, who may have to start the app by hand.

        Raises:
            CaseError: The app is missing, or ended its run without a case that it must report.
            TargetError: The device is gone, or the app sent nothing in time.
        """
        ...
