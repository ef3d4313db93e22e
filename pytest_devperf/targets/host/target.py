"""This machine as a target: Python calls in this process, models through their runtimes, programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_devperf.case.workload import Call, Command, Model, Workload
from pytest_devperf.errors import Unsupported
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.meter import ANCHOR_IDENTITY
from pytest_devperf.targets.protocol import Clock, Runner

if TYPE_CHECKING:
    from pytest_devperf.targets.survey import Survey

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.


class HostTarget:
    """The machine that runs the tests."""

    def __init__(
        self,
        *,
        device: Device,
        clock: Clock,
        look: Callable[[], Context],
        relocate: Callable[[Workload], Workload] | None = None,
    ) -> None:
        """Open the machine.

        Args:
            device: Its identity.
            clock: What times its workloads.
            look: Reads its sensors.
            relocate: Replaces the files that a workload names by those of other code; None: they are as named.
        """
        self.device = device
        self._relocate = relocate or (lambda workload: workload)
        self._clock = clock
        self._look = look
        self._env: Mapping[str, str | None] = {}

    def look(self) -> Context:
        """Read the sensors; add the identity of the anchor and, while a model is loaded, its `ep` and `sdk`."""
        seen = self._look()
        return replace(seen, anchor=ANCHOR_IDENTITY, env={**seen.env, **self._env})

    def start(self, workload: Workload, process: int) -> AbstractContextManager[Runner]:
        """Load the workload in this process, yield its runner, and unload it.

        Raises:
            Unsupported: An app, or a model whose runtime is not installed.
            CaseError: The workload is wrong (no such file, another shape).
        """
        workload = self._relocate(workload)
        if isinstance(workload, Call):
            from pytest_devperf.targets.host.call import CallRunner

            return CallRunner(workload, clock=self._clock)
        if isinstance(workload, Model):
            return self._start_model(workload)
        if isinstance(workload, Command):
            from pytest_devperf.targets.host.program.runner import start_command

            return start_command(workload, process, clock=self._clock)
        raise Unsupported(
            f"app {workload.id} needs a phone; this machine hosts no apps", "--devperf-target=android runs it"
        )

    def survey(self, workload: Model) -> Survey:
        """Read the model's schema, without loading the model.

        `env` lacks `ep` if only the loaded model shows it (nodes fall back to other providers): `look` then returns it.

        Raises:
            Unsupported: No runtime for this kind of file is installed.
            CaseError: The file or the inputs are wrong.
        """
        from pytest_devperf.targets.host.models.runtime import runtime_of

        model = self._relocate(workload)
        assert isinstance(model, Model)
        return runtime_of(model).survey(model)

    @contextmanager
    def _start_model(self, model: Model) -> Iterator[Runner]:
        from pytest_devperf.targets.host.models.runner import ModelRunner
        from pytest_devperf.targets.host.models.runtime import runtime_of

        with ModelRunner(model, runtime_of(model).prepare(model), clock=self._clock) as runner:
            self._env = runner.env
            try:
                yield runner
            finally:
                self._env = {}
