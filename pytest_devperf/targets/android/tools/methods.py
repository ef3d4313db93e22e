"""The methods of a model that a native tool can run; the tool never runs with other inputs than are recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.content import model_sha256
from pytest_devperf.model_file.executorch import backends_of, read_executorch
from pytest_devperf.model_file.litert import read_litert
from pytest_devperf.model_file.method import Method, ModelMethods, prepare_methods
from pytest_devperf.targets.android.tools.tool import TOOLS, Tool
from pytest_devperf.targets.survey import Survey, survey_of

CPU = "CPU"
"""Backend of benchmark_model unless an option names a delegate."""

READERS: Mapping[str, Callable[[str], tuple[Method, ...]]] = {
    "benchmark_model": read_litert,
    "executor_runner": read_executorch,
}
"""Tool -> function that reads the files it runs."""

OURS = frozenset(
    {
        "graph",
        "help",
        "input_layer",
        "input_layer_shape",
        "input_layer_value_files",
        "min_secs",
        "num_runs",
        "output_filepath",
        "signature_to_run_for",
        "warmup_min_secs",
        "warmup_runs",
    }
)
"""Options of benchmark_model that a test must not set."""

THREADS = "num_threads"
"""The option that both tools take from `session_options`, each under its own name."""


def runs_with_tool(model: Model) -> bool:
    """Check whether a native tool runs a model's format."""
    return Path(model.path).suffix.lower() in TOOLS


def tool_of(model: Model) -> str:
    """Return the name of the tool that runs a model.

    Raises:
        CaseError: There is no such file.
    """
    path = Path(model.path)
    if not path.is_file():
        raise CaseError(f"no model file {model.path}", "the path is relative to the test file")
    return TOOLS[path.suffix.lower()]


def survey_with_tool(model: Model, tool: Tool) -> Survey:
    """Read a model's methods and inputs, as far as the tool can run them.

    Raises:
        CaseError: The file is not such a model, or an option or input is wrong.
    """
    methods = prepare_for_tool(model, tool)
    return survey_of(
        methods,
        model_sha256=model_sha256(model.path),
        env={"ep": provider_words(model, methods, tool), "sdk": tool.sdk},
    )


def provider_words(model: Model, methods: ModelMethods, tool: Tool) -> str:
    """Name the backends that a model was lowered to, or the delegates that an option requests."""
    if tool.name == "executor_runner":
        return backends_of(methods.methods)
    asked = [name[4:] for name, value in model.session_options.items() if name.startswith("use_") and value]
    return ",".join(asked) or CPU


def prepare_for_tool(model: Model, tool: Tool) -> ModelMethods:
    """Make the inputs of each method, or give the reason why the tool cannot run it with the inputs that are recorded.

    Raises:
        CaseError: The file is not such a model, or an option or input is wrong.
    """
    if model.providers:
        raise CaseError(f"{Path(model.path).name}: {tool.name} takes no providers", "omit providers=")
    options_of(model, tool)
    limit = _limit_litert if tool.name == "benchmark_model" else _limit_executorch
    found = READERS[tool.name](model.path)
    methods = prepare_methods(tuple(replace(each, reason=each.reason or limit(each, tool)) for each in found), model)
    methods.find(model)
    if tool.name == "executor_runner" and "inputs" not in tool.flags:
        return _all_ones(methods, model, tool)
    return methods


def _limit_litert(method: Method, tool: Tool) -> str | None:
    if method.place and "signature_to_run_for" not in tool.flags:
        return "this benchmark_model cannot choose a signature; set up a newer one"
    if method.inputs and "input_layer_value_files" not in tool.flags:
        return "this benchmark_model uses its own random inputs; set up a newer one"
    for spec in method.inputs:
        if spec.dtype == "string" or spec.shape == ():
            kind = "text" if spec.dtype == "string" else "single number"
            return f"input {spec.name!r} is a {kind}, which benchmark_model does not take"
    return None


def _limit_executorch(method: Method, tool: Tool) -> str | None:
    if method.place and "method_name" not in tool.flags:
        return "this executor_runner only runs the first method; set up a newer one"
    return None


def _all_ones(methods: ModelMethods, model: Model, tool: Tool) -> ModelMethods:
    """Describe the inputs of a runner without `--inputs`: ones."""
    import numpy as np

    if model.inputs:
        raise CaseError(f"this {tool.name} takes no inputs, it uses ones", "omit inputs=, or set up a newer one")
    ones = {
        name: replace(inputs, arrays={key: np.ones_like(array) for key, array in inputs.arrays.items()})
        for name, inputs in methods.inputs.items()
    }
    return replace(methods, inputs=ones)


def options_of(model: Model, tool: Tool) -> dict[str, str]:
    """Translate `session_options` to the tool's own options.

    Raises:
        CaseError: The tool has no such option, or a test must not set it.
    """
    options = {}
    for name, value in model.session_options.items():
        own = "cpu_threads" if name == THREADS and tool.name == "executor_runner" else name
        known = tool.flags - OURS if tool.name == "benchmark_model" else tool.flags & {"cpu_threads"}
        if own not in known:
            there = ", ".join(sorted(known)) or "none"
            raise CaseError(f"{tool.name} has no option {name!r} that could be set here", f"there are {there}")
        options[own] = str(value).lower() if isinstance(value, bool) else str(value)
    return options
