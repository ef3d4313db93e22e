"""An ONNX model that the runner on the phone has loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pytest_devperf.errors import CaseError, TargetError
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.sensors import Extremes, Surround
from pytest_devperf.targets.android.phone.work_folder import LIBRARY_PATH, WorkFolder
from pytest_devperf.targets.android.runner.client import RunnerClient
from pytest_devperf.targets.android.runner.manifest import parse_output
from pytest_devperf.targets.android.runner.reply import RunnerReply
from pytest_devperf.targets.android.runner.setup import RUNNER
from pytest_devperf.targets.protocol import Memory, RoundContext

if TYPE_CHECKING:
    import numpy as np

    from pytest_devperf.explain.profile import Profile

MANIFEST = "manifest.txt"

ANCHORS = 3
"""Anchor times requested together before a round: as many as the loop takes."""

ANCHORS_AFTER = 4
"""Anchor times requested after a round: the first is not counted."""

LOAD_S = 300.0
"""Longest wait for a load: a compiling accelerator has taken minutes."""

UNKNOWN_S = 600.0
"""Longest wait for a run before the model's speed is known."""

PATIENCE = 20.0
"""Multiple of the time expected so far after which a run counts as hung; a throttled phone is 5 times slower."""

FREE = "free"
FREE_MEMORY = {FREE: "/proc/meminfo#MemAvailable:"}
"""What the runner samples besides the caps: the number after a key, in KiB (proc(5))."""


class OnnxRunner:
    """A model that is loaded on the phone."""

    def __init__(
        self, client: RunnerClient, folder: WorkFolder, link: Link, surround: Surround, *, remedy: str
    ) -> None:
        self._remedy = remedy
        self._client = client
        self._folder = folder
        self._link = link
        self._surround = surround
        with _with_remedy(remedy):
            self.about = client.receive(timeout_s=LOAD_S)
        """Reply of the runner once the model was loaded: versions, anchor kernel, clock."""
        version = self.about.version
        self.env: Mapping[str, str | None] = {"sdk": None if version is None else f"onnxruntime {version}"}
        """Software that runs the model, as the runner found it on the phone."""
        self.load_ns: int | None = self.about.load_ns
        if self.about.load_ns is None or self.about.tick_ns is None:
            raise self._incomplete("the load")
        self.tick_ns = self.about.tick_ns
        self._anchors: list[int] = []
        self._anchored = False
        self._call_s: float | None = None
        self._round_context: RoundContext | None = None
        self._ran = False
        self._last = RunnerReply()

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, already divided by the inner loops, timed on the phone."""
        after = ANCHORS_AFTER if self._anchored else 0
        calls = iterations * inner_loops
        timeout_s = UNKNOWN_S if self._call_s is None else 60.0 + PATIENCE * calls * self._call_s
        with _with_remedy("" if self._ran else self._remedy):
            answer = self._client.ask(f"run {iterations} {inner_loops} {after}", timeout_s=timeout_s)
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
        """Time the anchor kernel, in ns; one reply contains several times, which are returned one by one."""
        self._anchored = True
        if not self._anchors:
            answer = self._client.ask(f"anchor {ANCHORS}", timeout_s=60.0)
            self._anchors = [int(value) for value in answer.anchor_ns]
        return self._anchors.pop(0) if self._anchors else None

    def profile(self, metric: str, iterations: int) -> Profile:
        """Time the nodes of the model in sessions of their own, one after the other in the same process.

        Raises:
            CaseError: The runner failed.
            TargetError: The phone is gone, or its trace cannot be read.
        """
        from pytest_devperf.targets.traced import profile_nodes

        runtime = str(self.env.get("sdk") or "")
        try:
            return profile_nodes(self.run, self._trace, metric=metric, iterations=iterations, runtime=runtime)
        except ValueError as error:
            raise TargetError(
                f"the times of the model's nodes on {self._link.name} cannot be read ({error})", "run again"
            ) from error

    def _trace(self, executions: int) -> str:
        """Execute the model in a traced session, which replaces the loaded one; fetch the trace and remove it."""
        timeout_s = LOAD_S + 60.0 + PATIENCE * executions * (self._call_s or UNKNOWN_S)
        answer = self._client.ask(f"trace {executions}", timeout_s=timeout_s)
        if answer.trace is None:
            raise self._incomplete(f"a trace of {executions} executions")
        name = PurePosixPath(answer.trace).name
        text = self._folder.read(name).decode(errors="replace")
        self._folder.remove(name)
        return text

    def round_context(self) -> RoundContext:
        """Return the context of the latest run; the phone is asked once for each run."""
        if self._round_context is None:
            last = self._last
            self._round_context = replace(
                self._surround(parse_watched(last)),
                cpu_ns=last.cpu_ns,
                wall_ns=last.wall_ns,
                waited_ns=last.waited_ns,
                slept=last.slept,
                counters=last.counters,
            )
        return self._round_context

    def memory(self, iterations: int) -> Memory | None:
        """Measure memory in a separate process on the phone, so that it does not include memory of earlier runs."""
        client = RunnerClient(
            self._link,
            self._folder.path,
            f"{LIBRARY_PATH} ./{RUNNER} memory {MANIFEST} {max(1, iterations)}",
            name="the memory pass",
        )
        try:
            sizes = client.receive(timeout_s=LOAD_S + UNKNOWN_S)
        finally:
            client.close()
        if sizes.baseline is None or sizes.peak is None:
            return None
        return Memory(baseline=sizes.baseline, loaded=sizes.loaded, peak=sizes.peak, disposed=sizes.disposed)

    def result(self) -> dict[str, np.ndarray[Any, Any]]:
        """Fetch the outputs of the last iteration, by name.

        Raises:
            CaseError: An output is not a tensor.
        """
        if not self._ran:
            self.run(1, 1)
        arrays = {}
        for output in self._client.ask("outputs .", timeout_s=120.0).outputs:
            if output.kind != "tensor":
                raise CaseError(f"output {output.name!r} is a {output.kind}, which cannot be fetched from a phone")
            arrays[output.name] = parse_output(output, self._folder.read(PurePosixPath(output.file).name))
        return arrays

    def _incomplete(self, what: str) -> TargetError:
        return TargetError(
            f"the runner's answer about {what} on {self._link.name} is incomplete",
            "set the runner up again with devperf setup-android",
        )


def parse_watched(answer: RunnerReply) -> Extremes:
    """Parse the samples that the runner took while it ran: caps by policy, and free memory."""
    least = {each.name: each.least for each in answer.watched}
    free_kib = least.pop(FREE, None)
    return Extremes(caps_khz=least, free_bytes=None if free_kib is None else free_kib * 1024)


@contextmanager
def _with_remedy(remedy: str) -> Iterator[None]:
    """Add the next step to an error if the runtime may have refused the generated inputs."""
    try:
        yield
    except CaseError as error:
        raise CaseError(error.what, "; ".join(filter(None, (error.next_step, remedy)))) from error
