"""ONNX models, run by onnxruntime."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.model_file.content import model_sha256
from pytest_devperf.model_file.inputs import ITEM_BYTES, ModelInputs, pinned_shape
from pytest_devperf.model_file.method import ModelMethods
from pytest_devperf.model_file.onnx import Schema, prepare_onnx
from pytest_devperf.model_file.tensor import TensorSpec
from pytest_devperf.targets.host.models.runtime import LoadedModel, PreparedModel
from pytest_devperf.targets.survey import Survey, survey_of

if TYPE_CHECKING:
    import numpy as np

CPU = "CPUExecutionProvider"
"""The provider that always exists and takes the nodes that no other provider takes."""

REMOTE = "AzureExecutionProvider"
"""Part of every wheel; only takes nodes that call a server."""

QUIET = 4
"""ORT's severity "fatal": its warnings would flood a test's output, and its errors are both printed and raised."""

RECORD_PLACEMENT = "session.record_ep_graph_assignment_info"
"""Session config entry that makes a session record which provider took which node.

Source: onnxruntime_session_options_config_keys.h of onnxruntime.
"""


def runtime() -> Any:  # noqa: ANN401 - the module itself, which ships no types
    """Import onnxruntime.

    Raises:
        Unsupported: It is not installed.
    """
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise Unsupported("a model case on the host needs onnxruntime", "pip install pytest-devperf[onnx]") from error


def survey(model: Model) -> Survey:
    """Read the model's schema and check all arguments, without loading the model."""
    ort = runtime()
    schema, methods = _prepared(model, ort)
    return survey_of(
        methods,
        model_sha256=_sha256(model.path, schema.external, _stamp(model.path, schema.external)),
        env=({} if _placement_open(model, ort) else {"ep": CPU}) | {"sdk": f"onnxruntime {ort.__version__}"},
    )


def prepare(model: Model) -> PreparedModel:
    """Check the model, make its inputs, and return functions that load and bind it.

    Raises:
        Unsupported: onnxruntime is not installed, or inputs cannot be made.
        CaseError: An option, provider, dimension or input is wrong, or a dimension is open.
    """
    ort = runtime()
    schema, methods = _prepared(model, ort)
    _, inputs = methods.select(model)
    options = _session_options(model, ort)
    if _placement_open(model, ort):
        options.add_session_config_entry(RECORD_PLACEMENT, "1")
    bindable = all(spec.dtype in ITEM_BYTES and spec.dtype != "string" for spec in (*schema.inputs, *schema.outputs))
    values = {} if not bindable else {name: _ort_value(ort, array) for name, array in inputs.arrays.items()}

    def load(options: Any) -> Any:  # noqa: ANN401 - SessionOptions and an InferenceSession, which ship no types
        return ort.InferenceSession(
            model.path,
            options,
            providers=None if model.providers is None else list(model.providers),
            provider_options=None
            if model.provider_options is None
            else [dict(each) for each in model.provider_options],
        )

    def bind(session: Any) -> LoadedModel:  # noqa: ANN401 - an InferenceSession
        env = {"ep": _placement(session, model), "sdk": f"onnxruntime {ort.__version__}"}
        bound = None if not bindable else _bind(ort, session, values, _fixed_outputs(schema, model.dims), env)
        return bound or _bind_plain(session, inputs, env)

    def trace(executions: int) -> str:
        from pytest_devperf.targets.host.models.onnx_trace import trace_session

        return trace_session(_session_options(model, ort), load, bind, executions)

    return PreparedModel(load=lambda: load(options), bind=bind, remedy=inputs.remedy, trace=trace)


def _prepared(model: Model, ort: Any) -> tuple[Schema, ModelMethods]:  # noqa: ANN401 - the runtime's module
    there = ort.get_available_providers()
    for provider in model.providers or ():
        if provider not in there:
            raise CaseError(f"onnxruntime here has no {provider}", f"there are {', '.join(there)}")
    _session_options(model, ort)
    return prepare_onnx(model)


def _session_options(model: Model, ort: Any) -> Any:  # noqa: ANN401 - the runtime's module, its SessionOptions
    options = ort.SessionOptions()
    options.log_severity_level = QUIET
    valid = [
        name for name in dir(options) if not name.startswith("_") and not callable(getattr(type(options), name, None))
    ]
    for name, value in model.session_options.items():
        if "." in name:
            options.add_session_config_entry(name, str(value))
            continue
        if name not in valid:
            raise CaseError(f"onnxruntime's SessionOptions has no {name!r}", f"there are {', '.join(valid)}")
        kind = type(getattr(options, name))
        try:
            setattr(options, name, getattr(kind, value, value) if isinstance(value, str) else value)
        except TypeError as error:
            raise CaseError(f"session_options[{name!r}] cannot be {value!r}", f"pass {kind.__name__}") from error
    return options


def _placement_open(model: Model, ort: Any) -> bool:  # noqa: ANN401 - the runtime's module
    """Check whether nodes may be placed on another provider than the CPU's."""
    asked = ort.get_available_providers() if model.providers is None else model.providers
    return bool(set(asked) - {CPU, REMOTE}) or (model.providers is not None and REMOTE in model.providers)


def _placement(session: Any, model: Model) -> str:  # noqa: ANN401 - an InferenceSession
    """Name the providers that really took nodes, in order of preference.

    For a runtime that does not report it (before 1.24), return the session's list of providers.
    """
    listed: list[str] = session.get_providers()
    taken: set[str] = set()
    if hasattr(session, "get_provider_graph_assignment_info") and _recorded(session):
        taken = {part.ep_name for part in session.get_provider_graph_assignment_info()}
    order = [*(model.providers or ()), *listed]
    return ",".join(dict.fromkeys(name for name in order if not taken or name in taken)) if taken else ",".join(listed)


def _recorded(session: Any) -> bool:  # noqa: ANN401 - an InferenceSession
    try:
        return bool(session.get_session_options().get_session_config_entry(RECORD_PLACEMENT) == "1")
    except RuntimeError:  # the entry was never set
        return False


def _ort_value(ort: Any, array: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401 - the runtime's module, an OrtValue
    return ort.OrtValue.ortvalue_from_numpy(array)


def _fixed_outputs(schema: Schema, dims: Mapping[str, int]) -> dict[str, tuple[tuple[int, ...], str] | None]:
    """Map each output to the shape and type that the model fixes, so that it can be allocated once."""

    def fixed(spec: TensorSpec) -> tuple[tuple[int, ...], str] | None:
        shape = pinned_shape(spec, dims) if spec.dtype in ITEM_BYTES else None
        return None if shape is None else (shape, spec.dtype)

    return {spec.name: fixed(spec) for spec in schema.outputs}


def _bind(
    ort: Any,  # noqa: ANN401 - the runtime's module
    session: Any,  # noqa: ANN401 - an InferenceSession
    values: Mapping[str, Any],
    outputs: Mapping[str, tuple[tuple[int, ...], str] | None],
    env: Mapping[str, str | None],
) -> LoadedModel | None:
    """Bind inputs and outputs, so that an execution contains only the runtime's work.

    The runtime itself allocates outputs without a fixed shape. Return None if it refuses: it requires bound outputs
    to have their declared shapes, and exporters declare wrong ones.
    """
    import numpy as np

    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name, fixed in outputs.items():
        if fixed is None:
            binding.bind_output(name, "cpu")
        else:
            binding.bind_ortvalue_output(
                name, ort.OrtValue.ortvalue_from_shape_and_type(fixed[0], np.dtype(fixed[1]), "cpu")
            )
    try:
        for _ in range(2):  # the second execution finds the outputs of the first
            session.run_with_iobinding(binding)
    except Exception:  # noqa: BLE001 - its exceptions share no class; a real fault occurs again without binding
        return None

    def latest() -> dict[str, Any]:
        return {name: _copied(each) for name, each in zip(outputs, binding.copy_outputs_to_cpu(), strict=True)}

    return LoadedModel(function=session.run_with_iobinding, args=(binding,), outputs=latest, env=env)


def _bind_plain(session: Any, inputs: ModelInputs, env: Mapping[str, str | None]) -> LoadedModel:  # noqa: ANN401 - an InferenceSession
    """Run without binding: strings cannot be bound, and a bound sequence grows with every execution."""
    arrays = dict(inputs.arrays)
    names = [output.name for output in session.get_outputs()]
    kept: list[Any] = []

    def execute() -> None:
        kept[:] = session.run(names, arrays)

    def latest() -> dict[str, Any]:
        return {name: _copied(each) for name, each in zip(names, kept, strict=True)}

    return LoadedModel(function=execute, args=(), outputs=latest, env=env)


def _copied(output: Any) -> Any:  # noqa: ANN401 - an array, a list of arrays of a sequence, a dict of a map
    import copy

    return copy.deepcopy(output)


def _stamp(path: str, external: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Describe the state of a model's files without reading them: sizes and times."""
    parts = [Path(path), *(Path(path).parent / name for name in external)]
    return tuple((part.stat().st_mtime_ns, part.stat().st_size) for part in parts if part.exists())


@lru_cache(maxsize=64)
def _sha256(path: str, external: tuple[str, ...], stamp: tuple[tuple[int, int], ...]) -> str:  # noqa: ARG001 - the stamp is the key
    return model_sha256(path, external)
