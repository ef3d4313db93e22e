"""Models of other formats on a phone: pushed with their project's own tool, which is started once per round."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Command, Model
from pytest_devperf.model_file.inputs import ITEM_BYTES, ModelInputs
from pytest_devperf.model_file.method import Method
from pytest_devperf.model_file.tensor import TensorSpec
from pytest_devperf.targets.android.command import CommandRunner
from pytest_devperf.targets.android.extremes import Surround
from pytest_devperf.targets.android.link import Link
from pytest_devperf.targets.android.manifest import raw_bytes
from pytest_devperf.targets.android.native import Tool
from pytest_devperf.targets.android.native_feed import options_of, prepare_native
from pytest_devperf.targets.android.place import Place
from pytest_devperf.targets.android.setup import RUNNER
from pytest_devperf.targets.protocol import Memory

if TYPE_CHECKING:
    import numpy as np

OUTPUTS = "outputs"
"""File, or beginning of the names of files, that a tool writes a model's outputs to."""

SEPARATORS = ",:"
"""Characters that part names in benchmark_model's options; where a name holds one, all are given as `input0`, ….

It goes by the place of an input and only remarks on another name.
"""


MEMORY_NS = 300_000_000
"""How long a model is kept busy while its peak is watched: it is looked at every 10 to 20 ms."""

MOST_FOR_MEMORY = 2_000
"""Iterations that are done for that at most: executor_runner writes a line for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One method as a tool is asked to run it."""

    tool: Tool
    method: Method
    argv: tuple[str, ...]


class NativeRunner(CommandRunner):
    """A model that a native tool loads and runs once per round."""

    def __init__(
        self,
        job: Job,
        place: Place,
        link: Link,
        *,
        prefix: str,
        policies: Sequence[str],
        anchored: bool,
        surround: Surround,
    ) -> None:
        self._job = job
        self._ran = False
        self._call_ns = float(MEMORY_NS)
        command = Command(argv=job.argv, push=(str(job.tool.path),), read=job.tool.name)
        super().__init__(
            command, 0, place, link, prefix=prefix, policies=policies, anchored=anchored, surround=surround
        )

    @property
    def load_ns(self) -> int | None:
        """Cost of loading the model, as the tool tells it; before the first round it is started once for that."""
        if not self._ran:
            self.run(1, 1)
        return self._load_ns

    @load_ns.setter
    def load_ns(self, value: int | None) -> None:
        self._load_ns = value

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Start the tool once: (iterations,) ns each, or one average where it tells no more."""
        # executor_runner knows no warm-up: it times its first executions like all others.
        first = self._warmup if self._job.tool.name == "executor_runner" else 0
        samples = super().run(iterations + first, inner_loops)
        self._ran = True
        self._call_ns = min(samples)
        # Loads are taken in starts of their own, and the first inference is told by nobody else.
        self._round_context = replace(self._round_context, values={})
        return samples[first:] if len(samples) > first else samples

    def memory(self, iterations: int) -> Memory | None:
        """Start the tool once, for long enough to be watched, and take its peak."""
        long_enough = min(MOST_FOR_MEMORY, round(MEMORY_NS / self._call_ns))
        return super().memory(max(iterations, long_enough))

    def result(self) -> Any:  # noqa: ANN401 - arrays by name
        """Fetch the outputs of the last iteration by name; nothing where the tool writes none."""
        if not self._ran:
            self.run(1, 1)
        specs = self._job.method.outputs
        if f"--output_file={OUTPUTS}" in self._job.argv:
            names = {spec: f"{OUTPUTS}-{index}.bin" for index, spec in enumerate(specs) if spec.shape is not None}
            return {spec.name: as_array(spec, self._place.read(name)) for spec, name in names.items()}
        if f"--output_filepath={OUTPUTS}" in self._job.argv:
            return split_outputs(specs, self._place.read(OUTPUTS))
        return {}


def as_array(spec: TensorSpec, raw: bytes) -> np.ndarray[Any, Any]:
    """Give an output its type and shape; one open dimension follows from the size, with more of them it stays flat."""
    import numpy as np

    known = spec.dtype in ITEM_BYTES and spec.dtype != "string"
    flat: np.ndarray[Any, Any] = np.frombuffer(raw, dtype=spec.dtype if known else "uint8").copy()
    shape = [size if isinstance(size, int) else -1 for size in spec.shape or ()]
    try:
        return flat.reshape(shape)
    except ValueError:  # several open dimensions, or other sizes than the file's
        return flat


def split_outputs(specs: Sequence[TensorSpec], raw: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Part outputs that were written one behind the other; empty where their sizes do not add up to the file's."""
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


def format_argv(model: Model, tool: Tool, method: Method, inputs: ModelInputs, *, several: bool) -> tuple[str, ...]:
    """Write a tool's command line.

    Args:
        model: The model; its file lies beside the tool as `model` with its suffix.
        tool: The tool.
        method: The method.
        inputs: Its inputs, which lie there as `input0.raw`, ….
        several: Whether the file has more methods than this.
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
    # By default it goes on for a second and half a one of warm-up, whatever the numbers of runs.
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
    wishes = {
        "method_name": method.name,
        "inputs": ",".join(f"input{index}.raw" for index in range(len(inputs.arrays))),
        "output_file": OUTPUTS,
        "print_output": "none",
    }
    words = [f"--model_path={file}", "--num_executions={iterations}"]
    return words + [f"--{name}={value}" for name, value in wishes.items() if name in tool.flags and value]


@contextmanager
def start_native(
    model: Model,
    link: Link,
    tool: Tool,
    *,
    runner: Path | None,
    prefix: str,
    policies: Sequence[str],
    surround: Surround,
) -> Iterator[NativeRunner]:
    """Push a model with its tool, hand out the runner, take everything away.

    Args:
        model: The model.
        link: The phone.
        tool: The tool that runs it.
        runner: The ONNX runner, which also times the anchor; None: there is no anchor.
        prefix: Shell words before the program (`taskset f0`).
        policies: Frequency policies whose caps are sampled beside it.
        surround: Tells what surrounded a run.

    Raises:
        CaseError: The model, an input or an option is wrong.
        Unsupported: The tool cannot run the method.
        TargetError: The phone went away, or is full.
    """
    methods = prepare_native(model, tool)
    method, inputs = methods.select(model)
    argv = format_argv(model, tool, method, inputs, several=len(methods.methods) > 1)
    place = Place(link)
    place.open()
    try:
        _lay_out(model, tool, inputs, place, runner)
        yield NativeRunner(
            Job(tool=tool, method=method, argv=argv),
            place,
            link,
            prefix=prefix,
            policies=policies,
            anchored=runner is not None,
            surround=surround,
        )
    finally:
        place.close()


def _lay_out(model: Model, tool: Tool, inputs: ModelInputs, place: Place, runner: Path | None) -> None:
    files = {tool.name: tool.path, f"model{Path(model.path).suffix}": Path(model.path)}
    if runner is not None:
        files[RUNNER] = runner
    with tempfile.TemporaryDirectory(prefix="devperf-") as scratch:
        for index, array in enumerate(inputs.arrays.values()):
            name = f"input{index}.raw"
            files[name] = Path(scratch, name)
            files[name].write_bytes(raw_bytes(array))
        place.put(files)
