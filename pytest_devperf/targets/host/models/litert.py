"""LiteRT (TensorFlow Lite) models through ai-edge-litert."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.model_file.content import model_sha256
from pytest_devperf.model_file.inputs import ModelInputs
from pytest_devperf.model_file.litert import read_litert
from pytest_devperf.model_file.method import Method, ModelMethods, prepare_methods
from pytest_devperf.model_file.tensor import TensorSpec
from pytest_devperf.targets.host.models.runtime import LoadedModel, PreparedModel
from pytest_devperf.targets.survey import Survey, survey_of

if TYPE_CHECKING:
    import numpy as np

CPU = "XNNPACK"
"""Backend of the interpreter if no delegate is named: its CPU kernels, XNNPACK's first."""

OPTIONS = ("num_threads",)
"""Options of the interpreter that `session_options` may name."""

INSTALL = "pip install 'pytest-devperf[litert]'"


def survey(model: Model) -> Survey:
    """Read methods and inputs from the file; the runtime loads nothing.

    Raises:
        Unsupported: ai-edge-litert is not installed.
        CaseError: The file is not a LiteRT model, or an option, dimension or input is wrong.
    """
    _runtime()
    methods = _prepared(model)
    return survey_of(
        methods,
        model_sha256=model_sha256(model.path),
        env=_env(),
    )


def prepare(model: Model) -> PreparedModel:
    """Check the model, make its inputs, and return functions that load and bind it.

    Raises:
        Unsupported: ai-edge-litert is not installed, or inputs for the model cannot be made.
        CaseError: As for `survey`.
    """
    _runtime()
    method, inputs = _prepared(model).select(model)

    def load() -> _Subgraph:
        subgraph = _Subgraph(_interpreter(model), method)
        subgraph.allocate(inputs)
        return subgraph

    def bind(subgraph: _Subgraph) -> LoadedModel:
        subgraph.set_inputs(inputs)
        return LoadedModel(function=subgraph.invoke, args=(), outputs=subgraph.outputs, env=_env())

    return PreparedModel(load=load, bind=bind, remedy=inputs.remedy)


class _Subgraph:
    """One subgraph of a loaded model; inputs and outputs stay in place, so that an execution contains only its work."""

    def __init__(self, interpreter: Any, method: Method) -> None:  # noqa: ANN401 - an Interpreter, which ships no types
        self._interpreter = interpreter
        self._method = method
        # The public interface only reaches the main subgraph; a signature runner resizes, copies and allocates in every
        # call. The function that it calls takes the subgraph as its last argument.
        self._inner = interpreter if method.place == 0 else interpreter._interpreter  # noqa: SLF001 - see above
        self._last = () if method.place == 0 else (method.place,)
        self.invoke: Callable[[], object] = interpreter.invoke
        """Executes the subgraph once."""
        if method.place != 0:
            inner, place = self._inner, method.place
            self.invoke = lambda: inner.Invoke(place)

    def allocate(self, inputs: ModelInputs) -> None:
        """Set the size of every input, and allocate all tensors."""
        import numpy as np

        for spec, place in self._specs():
            shape = inputs.arrays[spec.name].shape
            if spec.shape == shape:
                continue
            if self._method.place == 0:
                self._inner.resize_tensor_input(place, shape, strict=True)
            else:
                self._inner.ResizeInputTensor(place, np.array(shape, dtype=np.int32), True, *self._last)  # noqa: FBT003
        self._call("allocate_tensors", "AllocateTensors")

    def set_inputs(self, inputs: ModelInputs) -> None:
        """Copy the inputs to their tensors."""
        for spec, place in self._specs():
            self._call("set_tensor", "SetTensor", place, inputs.arrays[spec.name])

    def outputs(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Copy the latest outputs, by name."""
        specs = zip(self._method.outputs, self._method.output_places, strict=True)
        return {spec.name: self._call("get_tensor", "GetTensor", place) for spec, place in specs}

    def _specs(self) -> Iterator[tuple[TensorSpec, int]]:
        return zip(self._method.inputs, self._method.input_places, strict=True)

    def _call(self, public: str, inner: str, *args: Any) -> Any:  # noqa: ANN401 - handed through
        if self._method.place == 0:
            return getattr(self._inner, public)(*args)
        return getattr(self._inner, inner)(*args, *self._last)


def _runtime() -> Any:  # noqa: ANN401 - the module itself, which ships no types
    try:
        return importlib.import_module("ai_edge_litert.interpreter")
    except ImportError as error:
        raise Unsupported("a .tflite model on the host needs ai-edge-litert", INSTALL) from error


def _env() -> dict[str, str | None]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {"ep": CPU, "sdk": f"ai-edge-litert {version('ai-edge-litert')}"}
    except PackageNotFoundError:
        return {"ep": CPU, "sdk": "ai-edge-litert"}


def _interpreter(model: Model) -> Any:  # noqa: ANN401 - an Interpreter
    try:
        return _runtime().Interpreter(model_path=model.path, **model.session_options)
    except ValueError as error:
        raise CaseError(f"{model.path} cannot be loaded: {str(error).splitlines()[0]}", "export it again") from error


def _prepared(model: Model) -> ModelMethods:
    name = Path(model.path).name
    if model.providers:
        raise CaseError(f"{name}: LiteRT takes no providers", "omit providers=")
    for option in model.session_options:
        if option not in OPTIONS:
            raise CaseError(f"LiteRT's interpreter has no option {option!r}", f"there are {', '.join(OPTIONS)}")
    methods = prepare_methods(read_litert(model.path), model)
    methods.find(model)
    return methods
