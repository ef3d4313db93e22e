"""What travels between the workstation and the runner: the manifest, inputs and outputs as bytes."""

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
"""Session options the runner knows, by onnxruntime's own names."""


UNKNOWN_TYPES: Mapping[str, str] = {"bfloat16": "uint16"}
"""Element types that NumPy lacks, and the type of their bits; those of others are bytes."""


def format_manifest(model: Model, arrays: Mapping[str, np.ndarray[Any, Any]], *, model_name: str) -> str:
    """Write what the runner is to run.

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
    """Lay an input out as the runner reads it: C order; texts each followed by a zero byte."""
    if array.dtype.kind == "O":
        return b"".join(str(text).encode() + b"\0" for text in array.ravel())
    return array.tobytes()


def parse_output(output: ModelOutput, data: bytes) -> np.ndarray[Any, Any]:
    """Read an output of the runner.

    Args:
        output: What the runner said of it.
        data: Its file.

    Returns:
        The array; element types that NumPy lacks come as their bytes.

    Raises:
        CaseError: The file is of another size than its shape says.
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
        what = f"which are no {output.dtype} {list(output.shape)}"
        raise CaseError(f"output {output.name!r} came with {len(data)} bytes, {what}", "run again") from None
    return array
