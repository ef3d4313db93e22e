"""Models in other formats than ONNX on a phone: pushed with their project's tool, which is started once per round."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_devperf.case.workload import Command, Model
from pytest_devperf.model_file.inputs import ModelInputs
from pytest_devperf.model_file.method import Method
from pytest_devperf.targets.android.phone.work_folder import WorkFolder, work_folder
from pytest_devperf.targets.android.runner.manifest import raw_bytes
from pytest_devperf.targets.android.tools.command import CommandRunner, ExplainedCommandRunner
from pytest_devperf.targets.android.tools.command_line import OUTPUTS, as_array, format_argv, split_outputs
from pytest_devperf.targets.android.tools.conditions import Conditions
from pytest_devperf.targets.android.tools.methods import prepare_for_tool
from pytest_devperf.targets.android.tools.tool import Tool
from pytest_devperf.targets.protocol import Memory
from pytest_devperf.tool.parse import reads_operators

MEMORY_NS = 300_000_000
"""Time that a model executes while its peak is sampled, every 10 to 20 ms."""

MOST_FOR_MEMORY = 2_000
"""Most iterations for this: executor_runner prints a line for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolJob:
    """One method, and the command line that runs it."""

    tool: Tool
    method: Method
    argv: tuple[str, ...]


class ToolRunner(CommandRunner):
    """A model that a native tool loads and runs once per round."""

    def __init__(self, job: ToolJob, folder: WorkFolder, conditions: Conditions) -> None:
        self._job = job
        self._ran = False
        self._call_ns = float(MEMORY_NS)
        command = Command(argv=job.argv, push=(str(job.tool.path),), read=job.tool.name)
        super().__init__(command, 0, folder, conditions)
        self.runtime = job.tool.sdk

    @property
    def load_ns(self) -> int | None:
        """Time to load the model, as the tool prints it; before the first round, the tool is started once for this."""
        if not self._ran:
            self.run(1, 1)
        return self._load_ns

    @load_ns.setter
    def load_ns(self, value: int | None) -> None:
        self._load_ns = value

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Start the tool once: (iterations,) ns each, or one average if it prints nothing else."""
        # executor_runner has no warmup: it times its first executions like all others.
        first = self._warmup if self._job.tool.name == "executor_runner" else 0
        samples = super().run(iterations + first, inner_loops)
        self._ran = True
        self._call_ns = min(samples)
        # Loads are measured in separate starts, and no other runner reports the first inference.
        self._round_context = replace(self._round_context, values={})
        return samples[first:] if len(samples) > first else samples

    def memory(self, iterations: int) -> Memory | None:
        """Start the tool once, long enough to sample its memory, and measure its peak."""
        long_enough = min(MOST_FOR_MEMORY, round(MEMORY_NS / self._call_ns))
        return super().memory(max(iterations, long_enough))

    def result(self) -> Any:  # noqa: ANN401 - arrays by name
        """Fetch the outputs of the last iteration, by name; empty if the tool writes none."""
        if not self._ran:
            self.run(1, 1)
        specs = self._job.method.outputs
        if f"--output_file={OUTPUTS}" in self._job.argv:
            names = {spec: f"{OUTPUTS}-{index}.bin" for index, spec in enumerate(specs) if spec.shape is not None}
            return {spec.name: as_array(spec, self._folder.read(name)) for spec, name in names.items()}
        if f"--output_filepath={OUTPUTS}" in self._job.argv:
            return split_outputs(specs, self._folder.read(OUTPUTS))
        return {}


class ExplainedToolRunner(ExplainedCommandRunner, ToolRunner):
    """A model whose tool prints the times of its operators."""


@contextmanager
def start_with_tool(model: Model, tool: Tool, conditions: Conditions) -> Iterator[ToolRunner]:
    """Push a model with its tool, yield the runner, and remove everything.

    Args:
        model: The model.
        tool: The tool that runs it.
        conditions: How it runs, and how the context of a round is read.

    Raises:
        CaseError: The model, an input or an option is wrong.
        Unsupported: The tool cannot run the method.
        TargetError: The phone is gone, or is full.
    """
    methods = prepare_for_tool(model, tool)
    method, inputs = methods.select(model)
    argv = format_argv(model, tool, method, inputs, several=len(methods.methods) > 1)
    with work_folder(conditions.link) as folder:
        _lay_out(model, tool, inputs, folder, conditions)
        kind = ExplainedToolRunner if reads_operators(tool.name) else ToolRunner
        yield kind(ToolJob(tool=tool, method=method, argv=argv), folder, conditions)


def _lay_out(model: Model, tool: Tool, inputs: ModelInputs, folder: WorkFolder, conditions: Conditions) -> None:
    files = conditions.with_runner({tool.name: tool.path, f"model{Path(model.path).suffix}": Path(model.path)})
    with tempfile.TemporaryDirectory(prefix="devperf-") as scratch:
        for index, array in enumerate(inputs.arrays.values()):
            name = f"input{index}.raw"
            files[name] = Path(scratch, name)
            files[name].write_bytes(raw_bytes(array))
        folder.put(files)
