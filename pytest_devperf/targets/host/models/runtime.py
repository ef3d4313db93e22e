"""The runtimes of this machine, one for each kind of model file."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.targets.survey import Survey

if TYPE_CHECKING:
    import numpy as np

RUNTIMES: Mapping[str, str] = {
    ".onnx": "pytest_devperf.targets.host.models.onnx",
    ".tflite": "pytest_devperf.targets.host.models.litert",
    ".pte": "pytest_devperf.targets.host.models.executorch",
}
"""Suffix of a model file -> module that provides `survey(model)` and `prepare(model)` (see `Runtime`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A loaded model: a function that executes it, and its outputs."""

    function: Callable[..., Any]
    """The timed function."""
    args: tuple[Any, ...]
    outputs: Callable[[], Mapping[str, np.ndarray[Any, Any]]]
    """Copies the latest outputs, by name."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """`ep` and `sdk` that the model really runs with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedModel:
    """A model with its inputs, checked and not yet loaded."""

    load: Callable[[], Any]
    """Loads the model: its time is the metric `load`."""
    bind: Callable[[Any], LoadedModel]
    """Binds inputs and outputs to the result of `load`."""
    remedy: str = ""
    """The next step if the runtime refuses the inputs."""
    trace: Callable[[int], str] | None = None
    """Executes the model so many times in a session of its own that times each node, and returns its trace; None if
    the runtime cannot."""


class Runtime(Protocol):
    """The interface of a module in `RUNTIMES`."""

    def survey(self, model: Model) -> Survey:
        """Read the model's own schema."""
        ...

    def prepare(self, model: Model) -> PreparedModel:
        """Check the model and make its inputs."""
        ...


def runtime_of(model: Model) -> Runtime:
    """Find the runtime for a model file.

    Raises:
        CaseError: There is no such file, or no runtime for its suffix.
    """
    path = Path(model.path)
    if not path.is_file():
        raise CaseError(f"no model file {model.path}", "the path is relative to the test file")
    module = RUNTIMES.get(path.suffix.lower())
    if module is None:
        raise CaseError(f"{path.name} is not a known kind of model file", f"known suffixes: {', '.join(RUNTIMES)}")
    return cast("Runtime", importlib.import_module(module))
