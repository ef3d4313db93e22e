"""What every kind of target can do, and what some can do besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pytest_devperf.case.workload import App, Model, Workload
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.survey import Survey

if TYPE_CHECKING:
    from pytest_devperf.targets.app.wire import CaseReport, Task


class Clock(Protocol):
    """Everything that waits or times in this process asks it."""

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
    """Before the workload was brought up."""
    loaded: int | None
    """With the workload up, before its first iteration."""
    peak: int
    """Highest seen since `baseline`."""
    disposed: int | None = None
    """After the workload was taken down."""
    unseen_children: bool = False
    """Whether a child process ended that was not looked at, or not just before its end."""


class Runner(Protocol):
    """A workload that is up and can be run."""

    load_ns: int | None
    """Cost of bringing the workload up; None where there is none."""

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, inner loops divided out, timed where the work runs."""
        ...

    def anchor(self) -> int | None:
        """Time the fixed kernel once, in ns, where the work runs."""
        ...

    def memory(self, iterations: int) -> Memory | None:
        """Take sizes in a pass of its own."""
        ...


class Target(Protocol):
    """A device that runs workloads.

    A target that starts processes of its own (a phone, a virtual device) is driven from this process
    for every start; only the host's later starts are fresh interpreters.
    """

    device: Device

    def look(self) -> Context:
        """Read the sensors, in one round trip."""
        ...

    def start(self, workload: Workload, process: int) -> AbstractContextManager[Runner]:
        """Bring the workload up in a new process, hand out its runner, take it down.

        Raises:
            Unsupported: This kind of workload cannot run here.
            CaseError: The workload is wrong (no such file, another shape).
            TargetError: The device went away.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundContext:
    """What surrounded a round."""

    cpu_ns: int | None = None
    """CPU time of the whole measuring process."""
    wall_ns: int | None = None
    """Wall time of the whole round."""
    waited_ns: int | None = None
    """Time in which the measuring thread was ready and had no CPU."""
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
    """Highest frequency that any processor was allowed meanwhile: the lowest such cap."""
    also: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Further series in ns of the same round, by name (of a tool that prints several)."""
    values: Mapping[str, tuple[float, str, str]] = field(default_factory=dict)
    """Values of the same round: name -> (value, unit, `lower` or `higher`)."""
    left: str | None = None
    """Processes that a program left running, which were ended."""


@runtime_checkable
class ContextReporting(Protocol):
    """A runner that can tell of its latest run."""

    def round_context(self) -> RoundContext:
        """Tell what is known of the latest run."""
        ...


@runtime_checkable
class Answering(Protocol):
    """A runner that hands the workload's result over."""

    def result(self) -> Any:  # noqa: ANN401 - whatever the workload returns
        """Hand over the result: the first unrecorded call's, or a model's last outputs by name."""
        ...


@runtime_checkable
class Describing(Protocol):
    """A runner that knows the software its workload runs with once that is up."""

    env: Mapping[str, str | None]
    """`sdk` and the like, as a survey names them."""


@runtime_checkable
class Ticking(Protocol):
    """A runner that knows the step of the clock it times with."""

    tick_ns: float
    """Smallest non-zero difference of consecutive clock reads."""


@runtime_checkable
class Looping(Protocol):
    """A runner that knows whether its workload can be repeated within one iteration."""

    loops: bool
    """False: `run` takes `inner_loops=1` alone (a setup before every iteration, a stream)."""


@runtime_checkable
class SelfWarming(Protocol):
    """A runner that does its own warm-up and takes no inner loops (a native tool)."""

    def warm_up(self, iterations: int) -> None:
        """Say how many unrecorded iterations each run does first."""
        ...


@runtime_checkable
class Surveying(Protocol):
    """A target that can tell a model's methods and shapes."""

    def survey(self, workload: Model) -> Survey:
        """Read the model's own schema."""
        ...


@runtime_checkable
class ShellOffering(Protocol):
    """A target whose device has a shell that sensors of plugins may use."""

    def shell(self, command: str, /) -> str:
        """Run a command on the device and return what it printed.

        Raises:
            DevperfError: It failed, or the device went away.
        """
        ...


@runtime_checkable
class Closing(Protocol):
    """A target that changes something and undoes it."""

    def close(self) -> None:
        """Undo it."""
        ...


@runtime_checkable
class IdleWatching(Protocol):
    """A target that can tell what else it is busy with while nothing is measured."""

    def watch_idle(self) -> Context:
        """Read the sensors; `cpu_pct` is what everything used for a moment in which nothing was measured.

        Raises:
            TargetError: The device went away.
        """
        ...


@runtime_checkable
class Hosting(Protocol):
    """A target that runs apps which host their own cases."""

    def host(self, app: App, task: Task, *, build: bool, tell: Callable[[str], None]) -> Iterator[CaseReport]:
        """Start the app as one process start, give each case's report as it comes, end the app.

        Args:
            app: The app.
            task: What it is asked to do; its `run` is fresh.
            build: Whether the app's `build` command runs first.
            tell: Shows a sentence to the user, who may have to start the app by hand.

        Raises:
            CaseError: The app is not there, or ended without a case that must come.
            TargetError: The device went away, or the app fell silent.
        """
        ...
