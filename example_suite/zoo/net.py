"""Writes an ONNX graph, one operator after another, with the same bytes on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_devperf import inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import ModelProto

OPSET = 17
"""Every onnxruntime since 1.14 runs it."""

IR_VERSION = 8
"""The file format that belongs to that opset."""


class Net:
    """A graph under construction; every method adds a node and gives the name of its output.

    Args:
        name: The graph's name, which also seeds its weights.
        seed: Seed of its random weights.
    """

    def __init__(self, name: str, *, seed: int = 0) -> None:
        self.name = name
        self.seed = seed
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: str = "float32") -> str:
        """Declare an input; a dimension that is a word is free."""
        self.inputs.append(_declared(name, shape, dtype))
        return name

    def output(self, name: str, shape: Sequence[int | str], of: str, dtype: str = "float32") -> None:
        """Declare a value as an output under a name of its own."""
        self.op("Identity", of, output=name)
        self.outputs.append(_declared(name, shape, dtype))

    def weight(self, values: Any) -> str:
        """Keep an array in the model."""
        from onnx import numpy_helper

        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def random(self, *shape: int) -> np.ndarray:
        """Draw weights that keep a signal's size: uniform, with a deviation of sqrt(2 / fan-in)."""
        self.seed += 1
        fan_in = int(np.prod(shape[1:])) or 1
        bound = float(np.sqrt(6.0 / fan_in))
        return (inputs.tensor(shape, seed=self.seed) * np.float32(bound)).astype(np.float32)

    def op(self, kind: str, *values: str, output: str | None = None, **attributes: Any) -> str:
        """Add any operator."""
        from onnx import helper

        output = output or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(values), [output], name=output, **attributes))
        return output

    def conv(
        self, value: str, kernel: np.ndarray, bias: np.ndarray | None = None, *, stride: int = 1, **more: Any
    ) -> str:
        """Add a convolution that keeps the size, or halves it with a stride of two."""
        sizes = kernel.shape[2:]
        values = [value, self.weight(kernel.astype(np.float32))]
        if bias is not None:
            values.append(self.weight(np.asarray(bias, dtype=np.float32)))
        pads = [size // 2 for size in sizes] + [(size - 1) // 2 for size in sizes]
        return self.op("Conv", *values, **{"strides": [stride] * len(sizes), "pads": pads, **more})

    def relu(self, value: str) -> str:
        """Add a rectifier."""
        return self.op("Relu", value)

    def linear(self, value: str, width_in: int, width_out: int) -> str:
        """Add a matrix product with random weights over the last axis."""
        return self.op("MatMul", value, self.weight(self.random(width_out, width_in).T * np.float32(0.5)))

    def unit(self, value: str) -> str:
        """Divide by the Euclidean length over the last axis."""
        return self.op("LpNormalization", value, axis=-1, p=2)

    def model(self) -> ModelProto:
        """Put the model together and check it."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        made = helper.make_model(graph, producer_name="example_suite", opset_imports=[helper.make_opsetid("", OPSET)])
        made.ir_version = IR_VERSION
        onnx.checker.check_model(made)
        return made


def _declared(name: str, shape: Sequence[int | str], dtype: str) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape))
