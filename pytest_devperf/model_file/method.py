"""The methods of a model file: their inputs and outputs, and the inputs that are generated for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_devperf.case.fingerprint import describe_inputs
from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.content import map_model
from pytest_devperf.model_file.inputs import ModelInputs, format_spec, make_inputs, named_sizes
from pytest_devperf.model_file.tensor import TensorSpec

MAIN = "forward"
"""Name that a workload uses for the only method of a model, whatever its name in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of a model."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    place: int = 0
    """Index of the subgraph or execution plan it runs."""
    input_places: tuple[int, ...] = ()
    """Index of each input among the file's tensors or values, for runtimes that need it."""
    output_places: tuple[int, ...] = ()
    """The same for each output."""
    backends: tuple[str, ...] = ()
    """Backends that it was lowered to when it was exported, with the runtime's names."""
    reason: str | None = None
    """Why it cannot be executed by itself, whatever its inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMethods:
    """A model's methods with the inputs of each."""

    methods: tuple[Method, ...]
    inputs: Mapping[str, ModelInputs] = field(default_factory=dict)
    """By the method's name."""

    @property
    def ready(self) -> tuple[str, ...]:
        """Names of the methods that can be executed."""
        return tuple(method.name for method in self.methods if self.inputs[method.name].is_ready)

    @property
    def skipped(self) -> dict[str, str]:
        """Methods that cannot be executed, with the reason."""
        return {name: each.reason for name, each in self.inputs.items() if each.reason is not None}

    @property
    def wanting(self) -> dict[str, str]:
        """Methods that need something, with what a test has to pass."""
        return {name: each.wants for name, each in self.inputs.items() if each.wants is not None}

    def describe_inputs(self) -> dict[str, dict[str, object]]:
        """Describe all inputs; if there are several methods, their names precede those of the inputs."""
        several = len(self.methods) > 1
        return {
            f"{method}.{name}" if several else name: facts
            for method in self.ready
            for name, facts in describe_inputs(self.inputs[method].arrays).items()
        }

    def find(self, model: Model) -> Method:
        """Find the method for a workload; `forward` also means the first that can be executed.

        Raises:
            CaseError: There is no such method.
        """
        names = [method.name for method in self.methods]
        name = model.method
        if name not in names and name == MAIN:
            name = (*self.ready, *names)[0]
        if name not in names:
            raise CaseError(f"{Path(model.path).name} has no method {name!r}", f"it has {', '.join(names)}")
        return self.methods[names.index(name)]

    def select(self, model: Model) -> tuple[Method, ModelInputs]:
        """Find the method for a workload, and its inputs.

        Raises:
            CaseError: There is no such method, or the test has to pass something first.
            Unsupported: Its inputs cannot be generated.
        """
        method = self.find(model)
        inputs = self.inputs[method.name]
        inputs.require(model.path)
        return method, inputs


def read_methods(path: str, parse: Callable[[memoryview], tuple[Method, ...]], *, kind: str) -> tuple[Method, ...]:
    """Read a file's methods.

    Args:
        path: The file.
        parse: Parses its bytes; a `ValueError` explains why they cannot be parsed.
        kind: Expected kind of file (`LiteRT model`).

    Raises:
        CaseError: There is no such file, it is of another kind, or it has no method.
    """
    data = map_model(path)
    try:
        methods = parse(data)
    except ValueError as error:
        raise CaseError(f"{path} is not a valid {kind}: {error}", "export it again") from error
    if not methods:
        raise CaseError(f"{path} has no method that can be run", "export it again")
    if len({method.name for method in methods}) < len(methods):
        raise CaseError(f"two methods of {path} have the same name", "export it again")
    return methods


def prepare_methods(methods: tuple[Method, ...], model: Model) -> ModelMethods:
    """Generate the inputs of every method; a given input or dimension must belong to at least one of them.

    Raises:
        CaseError: A given input or dimension belongs to no method, or an array has another type, rank or size.
    """
    given: Mapping[str, Any] = model.inputs or {}
    specs = [spec for method in methods for spec in method.inputs]
    expected = "; ".join(f"{method.name} takes {', '.join(map(format_spec, method.inputs))}" for method in methods)
    _refuse_unknown("input", given, {spec.name for spec in specs}, expected)
    symbols = {size for spec in specs for size in named_sizes(spec) if isinstance(size, str)}
    _refuse_unknown("dimension", model.dims, symbols, expected)
    return ModelMethods(methods=methods, inputs={method.name: _inputs_of(method, model) for method in methods})


def _inputs_of(method: Method, model: Model) -> ModelInputs:
    if method.reason is not None:
        return ModelInputs(reason=method.reason)
    names = {spec.name for spec in method.inputs}
    symbols = {size for spec in method.inputs for size in named_sizes(spec) if isinstance(size, str)}
    dims = {name: size for name, size in model.dims.items() if name in symbols}
    return make_inputs(
        method.inputs, dims, {name: value for name, value in (model.inputs or {}).items() if name in names}
    )


def _refuse_unknown(word: str, named: Mapping[str, Any], known: set[str], expected: str) -> None:
    for name in named:
        if name not in known:
            raise CaseError(f"the model has no {word} {name!r}", expected)
