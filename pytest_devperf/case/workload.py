"""What a case makes the device do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union

WHOLE_TIME = "time"
"""What `Command.read` says of a program whose output holds no times: each start is timed from its start to its end."""

CallShape = Literal["plain", "coroutine", "stream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A Python call in the process that measures."""

    function: Callable[..., Any]
    """What is called; for `stream` it returns an iterator, for `coroutine` an awaitable."""
    args: tuple[Any, ...] = ()
    """Positional arguments, the same objects in every call."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments, the same objects in every call."""
    setup: Callable[[], object] | None = None
    """Runs untimed before every iteration."""
    sync: Callable[[Any], object] | None = None
    """Receives the result inside the timing (a GPU stream, a future)."""
    shape: CallShape = "plain"
    """How the function gives its result."""
    memory: bool = False
    """Whether this start takes its memory: then it is watched from before its first call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One method of a model file, run by the target's runtime."""

    path: str
    """Absolute path of the file on this machine."""
    method: str = "forward"
    """The entry that is executed; an ONNX model has `forward` alone."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes of symbolic dimensions."""
    inputs: Mapping[str, Any] | None = None
    """Arrays by input name; None: deterministic ones from the model's own schema."""
    providers: tuple[str, ...] | None = None
    """Execution providers in order of preference; None: the runtime's default."""
    provider_options: tuple[Mapping[str, str], ...] | None = None
    """Options of each provider, in the same order."""
    session_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the runtime's session by their names there."""
    memory: bool = False
    """Whether this start takes its memory: then it is watched from before it is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program that measures itself and prints what it found, or is timed as a whole; one start is one round."""

    argv: tuple[str, ...]
    """Program and arguments; `{iterations}`, `{warmup}` and `{output}` (a file to read results from) are filled in."""
    push: tuple[str, ...] = ()
    """Absolute paths of files of this machine that lie beside the program where it runs."""
    read: str | Callable[[str], Any] = "lines"
    """Name of the reader of its output (see `pytest_devperf.tool`), a function text -> Output, or `WHOLE_TIME`."""
    folder: str | None = None
    """Absolute path of the test's folder on this machine; None: nobody knows it."""
    cwd: str | None = None
    """Folder it runs in, on the device. A relative one is relative to what None means: on a phone the folder of the
    pushed files, on this machine `folder`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables added to its environment."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units of values whose output names none."""
    timeout_s: float = 1800.0
    """Longest run of one start; half an hour is a tool that hangs."""

    @property
    def is_timed(self) -> bool:
        """Whether each start is timed as a whole."""
        return self.read == WHOLE_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An application that hosts its own cases and posts them to the collector."""

    id: str
    """Application id: `com.example.bench`."""
    platform: str | None = None
    """`android` or `ios`; None: the session's target."""
    build: tuple[str, ...] | None = None
    """Command that builds and installs it."""
    launch: tuple[str, ...] | None = None
    """Command that starts it; None: the platform's own way."""
    no_launch: bool = False
    """Wait for an app that is started by hand."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables the app is started with."""
    cases: tuple[str, ...] | None = None
    """Ids that must be reported; None: whatever comes."""
    timeout_s: float = 600.0
    """Longest wait for the next report."""
    cwd: str | None = None
    """Folder of this machine in which `build` and `launch` run; None: the current one."""


Workload = Union[Call, Model, Command, App]
