"""LiteRT (TensorFlow Lite) models through ai-edge-litert."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.fingerprint import describe_inputs
from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.target.feed import Feed, make_feed
from pytest_devperf.target.host.model import Prepared, Up, refuse_unfed
from pytest_devperf.target.onnx_file import Slot, model_sha256
from pytest_devperf.target.target import Survey

if TYPE_CHECKING:
    import numpy as np

METHOD = "forward"
"""The main subgraph; signatures are other names for the same thing in nearly every file."""

CPU = "XNNPACK"
"""What the interpreter runs on where no delegate is named: its CPU kernels, XNNPACK's first."""

OPTIONS = ("num_threads",)
"""Options of the interpreter that `session_options` may name."""


def survey(model: Model) -> Survey:
    """Read the model's inputs; its interpreter is made for it, but allocates nothing.

    Raises:
        Unsupported: ai-edge-litert is not installed.
        CaseError: The file is no LiteRT model, or an option, dimension or input is wrong.
    """
    feed = _feed(model)
    return Survey(
        methods=() if feed.reason else (METHOD,),
        skipped={METHOD: feed.reason} if feed.reason else {},
        inputs=describe_inputs(feed.arrays),
        model_sha256=model_sha256(model.path),
        env=_env(),
    )


def prepare(model: Model) -> Prepared:
    """Check the model, make its inputs, and say how it is loaded and bound.

    Raises:
        Unsupported: ai-edge-litert is not installed, or the model cannot be fed.
        CaseError: As for `survey`.
    """
    feed = _feed(model)
    refuse_unfed(model, feed.reason)

    def load() -> Any:  # noqa: ANN401 - an Interpreter, which ships no types
        interpreter = _interpreter(model)
        for detail in interpreter.get_input_details():
            shape = feed.arrays[detail["name"]].shape
            if tuple(detail["shape"]) != shape:
                interpreter.resize_tensor_input(detail["index"], shape, strict=True)
        interpreter.allocate_tensors()
        return interpreter

    def bind(interpreter: Any) -> Up:  # noqa: ANN401 - an Interpreter
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], feed.arrays[detail["name"]])

        def latest() -> Mapping[str, np.ndarray[Any, Any]]:
            # get_tensor hands out copies
            return {
                detail["name"]: interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()
            }

        return Up(function=interpreter.invoke, args=(), outputs=latest, env=_env())

    return Prepared(load=load, bind=bind)


def _runtime() -> Any:  # noqa: ANN401 - the module itself, which ships no types
    try:
        return importlib.import_module("ai_edge_litert.interpreter")
    except ImportError as error:
        raise Unsupported("a .tflite model on the host needs ai-edge-litert", "pip install ai-edge-litert") from error


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
        raise CaseError(f"{model.path} is no LiteRT model: {str(error).splitlines()[0]}", "export it again") from error


def _feed(model: Model) -> Feed:
    name = Path(model.path).name
    if model.method != METHOD:
        raise CaseError(f"{name} has no method {model.method!r}", f"a LiteRT model has {METHOD!r} alone")
    if model.providers:
        raise CaseError(f"{name}: LiteRT takes no providers", "leave providers= out")
    for option in model.session_options:
        if option not in OPTIONS:
            raise CaseError(f"LiteRT's interpreter has no option {option!r}", f"there are {', '.join(OPTIONS)}")
    return make_feed(tuple(map(_slot, _interpreter(model).get_input_details())), model.dims, model.inputs)


def _slot(detail: Mapping[str, Any]) -> Slot:
    import numpy as np

    signature = detail.get("shape_signature")
    sizes = detail["shape"] if signature is None or len(signature) == 0 else signature
    return Slot(
        name=detail["name"],
        dtype=np.dtype(detail["dtype"]).name,
        shape=tuple(int(size) if size >= 0 else None for size in sizes),
    )
