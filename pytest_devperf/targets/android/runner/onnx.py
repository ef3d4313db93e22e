"""ONNX models on the phone: pushed with their runtime, and loaded there in a separate process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.model_file.content import model_sha256, weights_beside
from pytest_devperf.model_file.inputs import ModelInputs
from pytest_devperf.model_file.method import ModelMethods
from pytest_devperf.model_file.onnx import Schema, prepare_onnx
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.sensors import Surround
from pytest_devperf.targets.android.phone.work_folder import LIBRARY_PATH, WorkFolder, work_folder
from pytest_devperf.targets.android.runner.client import RunnerClient
from pytest_devperf.targets.android.runner.manifest import format_manifest, raw_bytes
from pytest_devperf.targets.android.runner.model import FREE_MEMORY, MANIFEST, OnnxRunner
from pytest_devperf.targets.android.runner.reply import RunnerReply, parse_reply
from pytest_devperf.targets.android.runner.setup import LIBRARY, RUNNER, Setup
from pytest_devperf.targets.survey import Survey, survey_of
from pytest_devperf.untrusted import excerpt

MODEL_FOLDER = "model"
"""Folder below the working folder with the model and the files that contain its weights."""

CPU = "CPUExecutionProvider"
"""The provider that takes the nodes that no other provider takes."""

SUFFIXES = (".onnx",)

Watch = Mapping[str, str]
"""Name -> sysfs file that is sampled on the phone while rounds run."""


def check(model: Model) -> tuple[Schema, ModelMethods]:
    """Read a model's schema and make its inputs.

    Raises:
        CaseError: There is no such file, or an argument does not match the model.
        Unsupported: No runtime for phones supports this kind of file.
    """
    path = Path(model.path)
    if not path.is_file():
        raise CaseError(f"no model file {model.path}", "the path is relative to the test file")
    if path.suffix.lower() not in SUFFIXES:
        raise Unsupported(
            f"{path.name}: phones run .onnx, .tflite and .pte models", "use devperf.command with the format's own tool"
        )
    return prepare_onnx(model)


def survey(model: Model) -> Survey:
    """Read a model's methods, inputs and hash; nothing runs on the phone."""
    schema, methods = check(model)
    return survey_of(
        methods,
        model_sha256=model_sha256(model.path, schema.external),
        env={"ep": provider_words(model)},
    )


def provider_words(model: Model) -> str:
    """Name the requested providers, in order; the CPU's is always one of them."""
    return ",".join(dict.fromkeys((*(model.providers or ()), CPU)))


@contextmanager
def start_model(
    model: Model, link: Link, setup: Setup, *, watch: Watch, surround: Surround, prefix: str = ""
) -> Iterator[OnnxRunner]:
    """Push a model, load it in a new process on the phone, yield its runner, and remove everything.

    Args:
        model: The model.
        link: The phone.
        setup: Runner and runtime library for the model.
        watch: Files to sample while rounds run.
        surround: Returns the context of a round.
        prefix: Shell words before the program (`taskset f0`), quoted.

    Raises:
        CaseError: The model, an input or an option is wrong, or the runtime refused it.
        Unsupported: Inputs cannot be made.
        TargetError: The phone is gone, or is full.
    """
    schema, methods = check(model)
    _, inputs = methods.select(model)
    with work_folder(link) as folder:
        _lay_out(model, schema, inputs, setup, folder)
        sampled = " ".join(quote(f"{name}={path}") for name, path in {**watch, **FREE_MEMORY}.items())
        command = f"{LIBRARY_PATH} {prefix} ./{RUNNER} attend {MANIFEST} {sampled}"
        client = RunnerClient(link, folder.path, command, name=Path(model.path).name)
        try:
            yield OnnxRunner(client, folder, link, surround, remedy=inputs.remedy)
        finally:
            client.close()


def name_beside(external: Sequence[str], suffix: str) -> str:
    """Choose a name for a model's file in its own folder that differs from the files of its weights.

    >>> name_beside(["weights.bin"], ".onnx"), name_beside(["model.onnx"], ".onnx")
    ('model/model.onnx', 'model/model_.onnx')
    """
    name = "model"
    while f"{name}{suffix}" in external:
        name += "_"
    return f"{MODEL_FOLDER}/{name}{suffix}"


def _lay_out(model: Model, schema: Schema, inputs: ModelInputs, setup: Setup, folder: WorkFolder) -> None:
    model_name = name_beside(schema.external, Path(model.path).suffix)
    with tempfile.TemporaryDirectory(prefix="devperf-") as private:
        scratch = Path(private)
        files = {RUNNER: setup.runner, LIBRARY: setup.library, model_name: Path(model.path)}
        for name, path in weights_beside(model.path, schema.external).items():
            files[f"{MODEL_FOLDER}/{name}"] = path
        for index, array in enumerate(inputs.arrays.values()):
            files[f"input{index}.raw"] = scratch / f"input{index}.raw"
            files[f"input{index}.raw"].write_bytes(raw_bytes(array))
        files[MANIFEST] = scratch / MANIFEST
        files[MANIFEST].write_text(format_manifest(model, inputs.arrays, model_name=model_name), encoding="utf-8")
        folder.put(files)


def describe(setup: Setup, link: Link) -> RunnerReply:
    """Ask the runner on the phone for its anchor kernel and clock.

    Raises:
        CaseError: The runner cannot run on the phone.
        TargetError: The phone is gone.
    """
    with work_folder(link, {RUNNER: setup.runner}) as folder:
        done = link.script(f"cd {folder.path} && ./{RUNNER} about", doing="asking the runner")
    try:
        reply = parse_reply(done.output)
    except ValueError:
        reply = None
    if reply is None:
        words = excerpt((done.error_output or done.output).strip())
        raise CaseError(f"the runner cannot run on {link.name} ({words})", "set it up for this phone's ABI")
    return reply
