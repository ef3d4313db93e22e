"""The data exchanged with the runner: the manifest, and inputs and outputs as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as encode

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.inputs import ITEM_BYTES
from pytest_devperf.targets.android.runner.reply import ModelOutput
from pytest_devperf.targets.android.runner.setup import LIBRARY

if TYPE_CHECKING:
    import numpy as np

OPTIONS = frozenset(
    {
        "intra_op_num_threads",
        "inter_op_num_threads",
        "execution_mode",
        "graph_optimization_level",
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
    }
)
"""Session options of the runner, with onnxruntime's own names."""


UNKNOWN_TYPES: Mapping[str, str] = {"bfloat16": "uint16"}
"""Element types that NumPy lacks, with a type of the same size; other such types are read as bytes."""


def format_manifest(model: Model, arrays: Mapping[str, np.ndarray[Any, Any]], *, model_name: str) -> str:
    """Format the description of the model for the runner.

    Args:
        model: The model.
        arrays: Its inputs, in the order of the files `input0.raw`, ….
        model_name: The model's file in the working folder.

    Raises:
        CaseError: A session option is not known on a phone.
    """
    lines = [["library", f"./{LIBRARY}"], ["model", f"./{model_name}"]]
    for index, (name, array) in enumerate(arrays.items()):
        shape = ",".join(map(str, array.shape)) or "-"
        dtype = "string" if array.dtype.kind == "O" else array.dtype.name
        lines.append(["input", name, dtype, shape, f"input{index}.raw"])
    for name, value in model.session_options.items():
        if "." in name:
            lines.append(["config", name, str(value)])
        elif name in OPTIONS:
            lines.append(["option", name, getattr(value, "name", None) or str(value)])
        else:
            raise CaseError(
                f"session option {name!r} is not known on a phone", f"there are {', '.join(sorted(OPTIONS))}"
            )
    settings = model.provider_options or ({},) * len(model.providers or ())
    for provider, options in zip(model.providers or (), settings, strict=True):
        lines.append(["provider", provider, *(word for pair in options.items() for word in map(str, pair))])
    return "".join(" ".join(encode(word, safe="") or "%20" for word in line) + "\n" for line in lines)


def raw_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """Convert an input to the runner's format: C order; strings, each followed by a zero byte."""
    if array.dtype.kind == "O":
        return b"".join(str(text).encode() + b"\0" for text in array.ravel())
    return array.tobytes()


def parse_output(output: ModelOutput, data: bytes) -> np.ndarray[Any, Any]:
    """Parse an output of the runner.

    Args:
        output: The runner's description of it.
        data: The content of its file.

    Returns:
        The array; element types that NumPy lacks are returned as bytes.

    Raises:
        CaseError: The size of the file does not match its shape.
    """
    import numpy as np

    known = output.dtype in ITEM_BYTES
    array: np.ndarray[Any, Any]
    try:
        if output.dtype == "string":
            array = np.array([text.decode("utf-8", "replace") for text in data.split(b"\0")[:-1]], object)
        else:
            array = np.frombuffer(data, output.dtype if known else UNKNOWN_TYPES.get(output.dtype, "uint8")).copy()
        if known:
            array = array.reshape(output.shape)
    except ValueError:
        what = f"which are not {output.dtype} {list(output.shape)}"
        raise CaseError(f"output {output.name!r} has {len(data)} bytes, {what}", "run again") from None
    return array
