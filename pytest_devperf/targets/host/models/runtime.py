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
"""Suffix of a model file -> module that offers `survey(model)` and `prepare(model)` (see `Runtime`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model that is loaded: its execution as a function, and its outputs."""

    function: Callable[..., Any]
    """What is timed."""
    args: tuple[Any, ...]
    outputs: Callable[[], Mapping[str, np.ndarray[Any, Any]]]
    """Copies of the latest outputs by name."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """`ep` and `sdk` it really runs with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedModel:
    """A model with its inputs, checked and not loaded yet."""

    load: Callable[[], Any]
    """Loads the model: `load` times this."""
    bind: Callable[[Any], LoadedModel]
    """Binds inputs and outputs to what `load` returned."""
    remedy: str = ""
    """What to do if the runtime refuses the inputs."""


class Runtime(Protocol):
    """What a module named in `RUNTIMES` offers."""

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
        raise CaseError(f"{path.name} is no model file known here", f"known suffixes: {', '.join(RUNTIMES)}")
    return cast("Runtime", importlib.import_module(module))
