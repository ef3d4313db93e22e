"""The command lines of native tools, and the outputs they write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Model
from pytest_devperf.model_file.inputs import ITEM_BYTES, ModelInputs
from pytest_devperf.model_file.method import Method
from pytest_devperf.model_file.tensor import TensorSpec
from pytest_devperf.targets.android.tools.methods import options_of
from pytest_devperf.targets.android.tools.tool import Tool

if TYPE_CHECKING:
    import numpy as np

OUTPUTS = "outputs"
"""File, or beginning of the names of files, for a model's outputs."""

SEPARATORS = ",:"
"""Separators in benchmark_model's options; if a name contains one, all inputs are passed as `input0`, ….

The tool goes by the position of an input and only warns about another name.
"""


def format_argv(model: Model, tool: Tool, method: Method, inputs: ModelInputs, *, several: bool) -> tuple[str, ...]:
    """Return a tool's command line.

    Args:
        model: The model; its file lies beside the tool as `model` with its suffix.
        tool: The tool.
        method: The method.
        inputs: Its inputs, which lie beside the tool as `input0.raw`, ….
        several: Whether the file has other methods, too.
    """
    file = f"model{Path(model.path).suffix}"
    words = _litert(file, method, inputs) if tool.name == "benchmark_model" else _executorch(file, tool, method, inputs)
    if several and "signature_to_run_for" in tool.flags:
        words.append(f"--signature_to_run_for={method.name}")
    if "output_filepath" in tool.flags:
        words.append(f"--output_filepath={OUTPUTS}")
    words += [f"--{name}={value}" for name, value in options_of(model, tool).items()]
    return (tool.name, *words)


def _litert(file: str, method: Method, inputs: ModelInputs) -> list[str]:
    # By default it runs for a second after half a second of warmup, whatever the numbers of runs.
    words = [
        f"--graph={file}",
        "--num_runs={iterations}",
        "--warmup_runs={warmup}",
        "--min_secs=0",
        "--warmup_min_secs=0",
    ]
    if not method.inputs:
        return words
    names = [spec.name for spec in method.inputs]
    if set("".join(names)) & set(SEPARATORS):
        names = [f"input{index}" for index in range(len(names))]
    shapes = [",".join(map(str, inputs.arrays[spec.name].shape)) for spec in method.inputs]
    files = [f"{name}:input{index}.raw" for index, name in enumerate(names)]
    return [
        *words,
        f"--input_layer={','.join(names)}",
        f"--input_layer_shape={':'.join(shapes)}",
        f"--input_layer_value_files={','.join(files)}",
    ]


def _executorch(file: str, tool: Tool, method: Method, inputs: ModelInputs) -> list[str]:
    options = {
        "method_name": method.name,
        "inputs": ",".join(f"input{index}.raw" for index in range(len(inputs.arrays))),
        "output_file": OUTPUTS,
        "print_output": "none",
    }
    words = [f"--model_path={file}", "--num_executions={iterations}"]
    return words + [f"--{name}={value}" for name, value in options.items() if name in tool.flags and value]


def as_array(spec: TensorSpec, raw: bytes) -> np.ndarray[Any, Any]:
    """Set an output's type and shape; one open dimension follows from the size, with several the array stays flat."""
    import numpy as np

    known = spec.dtype in ITEM_BYTES and spec.dtype != "string"
    flat: np.ndarray[Any, Any] = np.frombuffer(raw, dtype=spec.dtype if known else "uint8").copy()
    shape = [size if isinstance(size, int) else -1 for size in spec.shape or ()]
    try:
        return flat.reshape(shape)
    except ValueError:  # several open dimensions, or sizes that do not match the file
        return flat


def split_outputs(specs: Sequence[TensorSpec], raw: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Split outputs that were written one after another; empty if their sizes do not add up to the file's."""
    if len(specs) == 1:
        return {specs[0].name: as_array(specs[0], raw)}
    sizes = [_bytes_of(spec) for spec in specs]
    if None in sizes or sum(size or 0 for size in sizes) != len(raw):
        return {}
    arrays, at = {}, 0
    for spec, size in zip(specs, sizes, strict=True):
        arrays[spec.name] = as_array(spec, raw[at : at + (size or 0)])
        at += size or 0
    return arrays


def _bytes_of(spec: TensorSpec) -> int | None:
    size = ITEM_BYTES.get(spec.dtype)
    for each in spec.shape or ():
        size = None if size is None or not isinstance(each, int) else size * each
    return size
