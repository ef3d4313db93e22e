"""ExecuTorch programs, run by the C++ libraries of its wheel; torch is not needed."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.content import model_sha256
from pytest_devperf.model_file.executorch import ELEMENT_TYPES, backends_of, read_executorch
from pytest_devperf.model_file.inputs import ModelInputs
from pytest_devperf.model_file.method import Method, ModelMethods, prepare_methods
from pytest_devperf.targets.host.models.executorch_build import build, find_wheel
from pytest_devperf.targets.host.models.runtime import LoadedModel, PreparedModel
from pytest_devperf.targets.survey import Survey, survey_of

if TYPE_CHECKING:
    import numpy as np

TYPE_NUMBERS = {name: number for number, name in ELEMENT_TYPES.items()}

MOST_DIMENSIONS = 16
"""Room for the sizes of an output, as in the shim; the runtime itself accepts no more."""


def survey(model: Model) -> Survey:
    """Read methods and inputs from the file, without loading it.

    Raises:
        Unsupported: ExecuTorch's libraries are not installed.
        CaseError: The file is not an ExecuTorch program, or an option or input is wrong.
    """
    methods = _prepared(model)
    return survey_of(
        methods,
        model_sha256=model_sha256(model.path),
        env={"ep": backends_of(methods.methods), "sdk": f"executorch {find_wheel().version}"},
    )


def prepare(model: Model) -> PreparedModel:
    """Check the program, make its inputs, compile the shim, and return functions that load and bind the program.

    Raises:
        Unsupported: Libraries or compiler are missing, or inputs for the program cannot be made.
        CaseError: As for `survey`.
    """
    method, inputs = _prepared(model).select(model)
    library = _library(str(build()))
    env = {"ep": backends_of((method,)), "sdk": f"executorch {find_wheel().version}"}

    def load() -> _Program:
        return _Program(library, model.path, method)

    def bind(program: _Program) -> LoadedModel:
        program.set_inputs(inputs)
        return LoadedModel(function=program.execute, args=(), outputs=program.outputs, env=env)

    return PreparedModel(load=load, bind=bind, remedy=inputs.remedy)


class _Program:
    """A loaded method of a program.

    Each execution passes the inputs first: the runtime may reuse their memory, so every application has to
    pass them each time.
    """

    def __init__(self, library: ctypes.CDLL, path: str, method: Method) -> None:
        error = ctypes.c_int32()
        handle = library.devperf_load(str(path).encode(), method.name.encode(), ctypes.byref(error))
        if not handle:
            words = library.devperf_words(error).decode()
            raise CaseError(f"{Path(path).name} cannot be loaded ({words})", "see ExecuTorch's own line in the output")
        self._library = library
        self._method = method
        self._name = Path(path).name
        self._handle = ctypes.c_void_p(handle)
        self._kept: tuple[Any, ...] = ()
        weakref.finalize(self, library.devperf_drop, self._handle)

    def set_inputs(self, inputs: ModelInputs) -> None:
        """Pass the addresses of the inputs to the runtime."""
        arrays = [inputs.arrays[spec.name] for spec in self._method.inputs]
        for array in arrays:
            sizes = (ctypes.c_int32 * max(1, array.ndim))(*array.shape)
            data = ctypes.c_void_p(array.ctypes.data)
            self._library.devperf_add_input(self._handle, TYPE_NUMBERS[array.dtype.name], array.ndim, sizes, data)
        self._kept = tuple(arrays)

    def execute(self) -> None:
        """Execute the method once.

        Raises:
            CaseError: The runtime refused.
        """
        error = self._library.devperf_execute(self._handle)
        if error:
            raise CaseError(f"{self._name}: {self._method.name} failed ({self._library.devperf_words(error).decode()})")

    def outputs(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Copy the latest outputs, by name; leave out those that are not tensors."""
        arrays = {spec.name: self._output(index) for index, spec in enumerate(self._method.outputs)}
        return {name: array for name, array in arrays.items() if array is not None}

    def _output(self, index: int) -> np.ndarray[Any, Any] | None:
        import numpy as np

        kind, rank, data = ctypes.c_int32(), ctypes.c_int32(), ctypes.c_void_p()
        sizes = (ctypes.c_int32 * MOST_DIMENSIONS)()
        found = self._library.devperf_output(
            self._handle, index, ctypes.byref(kind), ctypes.byref(rank), sizes, ctypes.byref(data)
        )
        dtype = ELEMENT_TYPES.get(kind.value)
        if not found or dtype is None or dtype == "bfloat16":
            return None
        shape = tuple(sizes[: rank.value])
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.frombuffer(ctypes.string_at(data.value or 0, size), dtype=dtype).reshape(shape)


@lru_cache(maxsize=1)
def _library(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.devperf_load.restype = ctypes.c_void_p
    library.devperf_words.restype = ctypes.c_char_p
    return library


def _prepared(model: Model) -> ModelMethods:
    name = Path(model.path).name
    find_wheel()
    if model.providers:
        raise CaseError(f"{name}: ExecuTorch takes no providers", "its backends are chosen when it is exported")
    if model.session_options:
        raise CaseError(f"{name}: ExecuTorch takes no session options", "omit session_options=")
    methods = prepare_methods(read_executorch(model.path), model)
    methods.find(model)
    return methods
