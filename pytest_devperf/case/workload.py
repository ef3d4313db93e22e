"""The kinds of workloads: a Python call, a model, a command, an app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union

WHOLE_TIME = "time"
"""Value of `Command.read` for a program whose output contains no times: each start is timed as a whole."""

CallShape = Literal["plain", "coroutine", "stream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often a test has a call made in each process start, instead of the numbers of the plan."""

    samples: int
    """Timed iterations."""
    inner_loops: int = 1
    """Calls in each of them."""
    warmup: int = 0
    """Unrecorded iterations before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A Python call in the measuring process."""

    function: Callable[..., Any]
    """The function to call; for `stream` it returns an iterator, for `coroutine` an awaitable."""
    args: tuple[Any, ...] = ()
    """Positional arguments, the same objects for every call."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments, the same objects for every call."""
    setup: Callable[[], object] | None = None
    """Called untimed before every iteration."""
    sync: Callable[[Any], object] | None = None
    """Called with the result within the timing (a GPU stream, a future)."""
    shape: CallShape = "plain"
    """How the function returns its result."""
    memory: bool = False
    """Whether this start measures memory: watching then begins before the first call."""
    repeats: Repeats | None = None
    """Exactly how often to call; there is no unrecorded first call then. None: the plan decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One method of a model file, run by the target's runtime."""

    path: str
    """Absolute path of the file on this machine."""
    method: str = "forward"
    """The method to run; an ONNX model has only `forward`."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes of symbolic dimensions."""
    inputs: Mapping[str, Any] | None = None
    """Arrays by input name; None: deterministic ones that match the model's own schema."""
    providers: tuple[str, ...] | None = None
    """Execution providers in order of preference; None: the runtime's default."""
    provider_options: tuple[Mapping[str, str], ...] | None = None
    """Options of each provider, in the same order."""
    session_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the runtime's session, by the runtime's names."""
    memory: bool = False
    """Whether this start measures memory: watching then begins before the model is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program that measures itself and prints its results, or is timed as a whole; one start is one round."""

    argv: tuple[str, ...]
    """Program and arguments; `{iterations}`, `{warmup}` and `{output}` (a file to read results from) are replaced."""
    push: tuple[str, ...] = ()
    """Absolute paths of files on this machine that are copied next to the program on the device."""
    read: str | Callable[[str], Any] = "lines"
    """Name of the reader of its output (see `pytest_devperf.tool`), a function text -> Output, or `WHOLE_TIME`."""
    folder: str | None = None
    """Absolute path of the test's folder on this machine; None: not known."""
    cwd: str | None = None
    """Working directory on the device. None: on a phone the folder of the pushed files, on this machine `folder`; a
    relative path is relative to the same folder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables added to its environment."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units of the values for which the output names none."""
    timeout_s: float = 1800.0
    """Longest run of one start; a tool that takes more than half an hour hangs."""

    @property
    def is_timed(self) -> bool:
        """Whether each start is timed as a whole."""
        return self.read == WHOLE_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An application that contains its own cases and posts their results to the collector."""

    id: str
    """Application id: `com.example.bench`."""
    platform: str | None = None
    """`android` or `ios`; None: the session's target."""
    build: tuple[str, ...] | None = None
    """Command that builds and installs the app."""
    launch: tuple[str, ...] | None = None
    """Command that starts the app; None: the platform's default."""
    no_launch: bool = False
    """Whether the app is started by hand."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the app."""
    cases: tuple[str, ...] | None = None
    """Ids that must be reported; None: any."""
    timeout_s: float = 600.0
    """Longest wait for the next report."""
    cwd: str | None = None
    """Folder on this machine in which to run `build` and `launch`; None: the current one."""


Workload = Union[Call, Model, Command, App]
