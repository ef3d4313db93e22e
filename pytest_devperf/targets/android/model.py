"""An ONNX model on the phone: pushed with its runtime, loaded and timed by the runner there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, TargetError, Unsupported
from pytest_devperf.model_file.content import model_sha256, weights_beside
from pytest_devperf.model_file.inputs import ModelInputs
from pytest_devperf.model_file.method import ModelMethods
from pytest_devperf.model_file.onnx import Schema, prepare_onnx
from pytest_devperf.targets.android.answers import Answer, parse_answer
from pytest_devperf.targets.android.extremes import Extremes, Surround
from pytest_devperf.targets.android.link import Link
from pytest_devperf.targets.android.manifest import format_manifest, parse_output, raw_bytes
from pytest_devperf.targets.android.place import Place
from pytest_devperf.targets.android.setup import LIBRARY, RUNNER, Setup
from pytest_devperf.targets.android.talk import Talk
from pytest_devperf.targets.protocol import Memory, RoundContext
from pytest_devperf.targets.survey import Survey, survey_of
from pytest_devperf.untrusted import excerpt

if TYPE_CHECKING:
    import numpy as np

MANIFEST = "manifest.txt"

MODEL_FOLDER = "model"
"""Folder below the working folder that holds the model and the files it keeps its weights in."""

CPU = "CPUExecutionProvider"
"""The provider that takes what no other takes."""

ANCHORS = 3
"""Anchor times asked for at once before a round: as many as the loop takes."""

ANCHORS_AFTER = 4
"""And after one: its first is not counted."""

LOAD_S = 300.0
"""Longest wait for a load: a compiling accelerator has been seen to take minutes."""

UNKNOWN_S = 600.0
"""Longest wait for a run before anything is known of the model's pace."""

PATIENCE = 20.0
"""How many times the pace seen so far a run may take before it counts as hung; a throttled phone is 5 times slower."""

SUFFIXES = (".onnx",)

Watch = Mapping[str, str]
"""Name -> file of sysfs that is sampled on the phone while rounds run."""

FREE, FREE_KIB = "free", "/proc/meminfo#MemAvailable:"
"""What the runner samples beside the caps: the number behind a key, which counts in KiB (proc(5))."""


def check(model: Model) -> tuple[Schema, ModelMethods]:
    """Read a model's schema and make its inputs.

    Raises:
        CaseError: There is no such file, or something given is not the model's.
        Unsupported: No runtime for phones takes this kind of file.
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
    """Tell a model's methods, inputs and hash; nothing runs on the phone for it."""
    schema, methods = check(model)
    return survey_of(
        methods,
        model_sha256=model_sha256(model.path, schema.external),
        env={"ep": provider_words(model)},
    )


def provider_words(model: Model) -> str:
    """Name the providers that are asked for, in order; the CPU's is always there."""
    return ",".join(dict.fromkeys((*(model.providers or ()), CPU)))


class ModelRunner:
    """A model that is loaded on the phone."""

    def __init__(self, talk: Talk, place: Place, link: Link, surround: Surround, *, remedy: str) -> None:
        self._remedy = remedy
        self._talk = talk
        self._place = place
        self._link = link
        self._surround = surround
        with _with_remedy(remedy):
            self.about = talk.hear(timeout_s=LOAD_S)
        """What the runner said once the model was up: versions, anchor kernel, clock."""
        version = self.about.version
        self.env: Mapping[str, str | None] = {"sdk": None if version is None else f"onnxruntime {version}"}
        """Software that runs it, as the runner found it on the phone."""
        self.load_ns: int | None = self.about.load_ns
        if self.about.load_ns is None or self.about.tick_ns is None:
            raise self._incomplete("the load")
        self.tick_ns = self.about.tick_ns
        self._anchors: list[int] = []
        self._anchored = False
        self._call_s: float | None = None
        self._round_context: RoundContext | None = None
        self._ran = False
        self._last = Answer()

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, inner loops divided out, timed on the phone."""
        after = ANCHORS_AFTER if self._anchored else 0
        calls = iterations * inner_loops
        timeout_s = UNKNOWN_S if self._call_s is None else 60.0 + PATIENCE * calls * self._call_s
        with _with_remedy("" if self._ran else self._remedy):
            answer = self._talk.ask(f"run {iterations} {inner_loops} {after}", timeout_s=timeout_s)
        if len(answer.ns) != iterations:
            raise self._incomplete(f"a run of {iterations} iterations")
        samples = answer.ns
        self._call_s = max(samples) / 1e9
        self._anchors = [int(value) for value in answer.anchor_ns]
        self._anchored = False
        self._ran = True
        self._last = answer
        self._round_context = None
        return samples

    def anchor(self) -> int | None:
        """Time the fixed kernel, in ns; several times are asked for at once and handed out one by one."""
        self._anchored = True
        if not self._anchors:
            answer = self._talk.ask(f"anchor {ANCHORS}", timeout_s=60.0)
            self._anchors = [int(value) for value in answer.anchor_ns]
        return self._anchors.pop(0) if self._anchors else None

    def round_context(self) -> RoundContext:
        """Tell what surrounded the latest run; asked again for the same run, the phone is not asked again."""
        if self._round_context is None:
            last = self._last
            self._round_context = replace(
                self._surround(parse_watched(last)),
                cpu_ns=last.cpu_ns,
                wall_ns=last.wall_ns,
                waited_ns=last.waited_ns,
                slept=last.slept,
            )
        return self._round_context

    def memory(self, iterations: int) -> Memory | None:
        """Take sizes in a process of its own on the phone, so that no earlier run's memory is in them."""
        talk = Talk(
            self._link,
            self._place.folder,
            f"{environment()} ./{RUNNER} memory {MANIFEST} {max(1, iterations)}",
            name="the memory pass",
        )
        try:
            sizes = talk.hear(timeout_s=LOAD_S + UNKNOWN_S)
        finally:
            talk.close()
        if sizes.baseline is None or sizes.peak is None:
            return None
        return Memory(baseline=sizes.baseline, loaded=sizes.loaded, peak=sizes.peak, disposed=sizes.disposed)

    def result(self) -> dict[str, np.ndarray[Any, Any]]:
        """Fetch the outputs of the last iteration by name.

        Raises:
            CaseError: An output is no tensor.
        """
        if not self._ran:
            self.run(1, 1)
        arrays = {}
        for output in self._talk.ask("outputs .", timeout_s=120.0).outputs:
            if output.kind != "tensor":
                raise CaseError(f"output {output.name!r} is a {output.kind}, which cannot be fetched from a phone")
            arrays[output.name] = parse_output(output, self._place.read(PurePosixPath(output.file).name))
        return arrays

    def _incomplete(self, what: str) -> TargetError:
        return TargetError(
            f"the runner's answer about {what} on {self._link.name} is incomplete",
            "set the runner up again with devperf setup-android",
        )


def parse_watched(answer: Answer) -> Extremes:
    """Take what the runner sampled while it ran: a cap by policy, and free memory."""
    least = {each.name: each.least for each in answer.watched}
    free_kib = least.pop(FREE, None)
    return Extremes(caps_khz=least, free_bytes=None if free_kib is None else free_kib * 1024)


def environment() -> str:
    """Shell words that let a program find the libraries beside it."""
    return "env LD_LIBRARY_PATH=.${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"


@contextmanager
def start_model(
    model: Model, link: Link, setup: Setup, *, watch: Watch, surround: Surround, prefix: str = ""
) -> Iterator[ModelRunner]:
    """Push a model, load it in a new process on the phone, hand out its runner, take everything away.

    Args:
        model: The model.
        link: The phone.
        setup: Runner and runtime library for it.
        watch: Files that are sampled while rounds run.
        surround: Tells what surrounded a run.
        prefix: Shell words before the program (`taskset f0`), quoted.

    Raises:
        CaseError: The model, an input or an option is wrong, or the runtime refused it.
        Unsupported: No inputs can be made.
        TargetError: The phone went away, or is full.
    """
    schema, methods = check(model)
    _, inputs = methods.select(model)
    place = Place(link)
    place.open()
    try:
        _lay_out(model, schema, inputs, setup, place)
        sampled = " ".join(quote(f"{name}={path}") for name, path in {**watch, FREE: FREE_KIB}.items())
        command = f"{environment()} {prefix} ./{RUNNER} attend {MANIFEST} {sampled}"
        talk = Talk(link, place.folder, command, name=Path(model.path).name)
        try:
            runner = ModelRunner(talk, place, link, surround, remedy=inputs.remedy)
            yield runner
        finally:
            talk.close()
    finally:
        place.close()


@contextmanager
def _with_remedy(remedy: str) -> Iterator[None]:
    """Say what to do if the runtime refuses the inputs that were made."""
    try:
        yield
    except CaseError as error:
        raise CaseError(error.what, "; ".join(filter(None, (error.next_step, remedy)))) from error


def name_beside(external: Sequence[str], suffix: str) -> str:
    """Name a model's file in a folder of its own, in which no file has a name of ours.

    >>> name_beside(["weights.bin"], ".onnx"), name_beside(["model.onnx"], ".onnx")
    ('model/model.onnx', 'model/model_.onnx')
    """
    name = "model"
    while f"{name}{suffix}" in external:
        name += "_"
    return f"{MODEL_FOLDER}/{name}{suffix}"


def _lay_out(model: Model, schema: Schema, inputs: ModelInputs, setup: Setup, place: Place) -> None:
    model_name = name_beside(schema.external, Path(model.path).suffix)
    with tempfile.TemporaryDirectory(prefix="devperf-") as folder:
        scratch = Path(folder)
        files = {RUNNER: setup.runner, LIBRARY: setup.library, model_name: Path(model.path)}
        for name, path in weights_beside(model.path, schema.external).items():
            files[f"{MODEL_FOLDER}/{name}"] = path
        for index, array in enumerate(inputs.arrays.values()):
            files[f"input{index}.raw"] = scratch / f"input{index}.raw"
            files[f"input{index}.raw"].write_bytes(raw_bytes(array))
        files[MANIFEST] = scratch / MANIFEST
        files[MANIFEST].write_text(format_manifest(model, inputs.arrays, model_name=model_name), encoding="utf-8")
        place.put(files)


def describe(setup: Setup, link: Link) -> Answer:
    """Ask the runner on the phone about itself: anchor kernel and clock.

    Raises:
        CaseError: The runner cannot run there.
        TargetError: The phone went away.
    """
    place = Place(link)
    place.open()
    try:
        place.put({RUNNER: setup.runner})
        done = link.script(f"cd {place.folder} && ./{RUNNER} about", doing="asking the runner")
        try:
            answer = parse_answer(done.output)
        except ValueError:
            answer = None
        if answer is None:
            words = excerpt((done.error_output or done.output).strip())
            raise CaseError(f"the runner cannot run on {link.name} ({words})", "set it up for this phone's ABI")
        return answer
    finally:
        place.close()
