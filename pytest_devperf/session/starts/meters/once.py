"""Run the calls of the fixture once, in a session that measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.function import refuse_unfinished
from pytest_devperf.errors import Unsupported
from pytest_devperf.metric import Better

if TYPE_CHECKING:
    from pytest_devperf.case.workload import App, Call, Command, Model, Workload
from pytest_devperf.targets.protocol import Target

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.


class Once:
    """Runs the calls of the fixture once, unmeasured."""

    def __init__(self, open_host: Callable[[], Target]) -> None:
        """Prepare the calls; `open_host` opens the target of this machine when it is needed."""
        self._open_host = open_host

    def time(self, name: str, call: Call) -> Any:  # noqa: ANN401, ARG002 - whatever the call returns; as the meter
        """Make a call once."""
        from pytest_devperf.targets.host.event_loop import run_in_loop
        from pytest_devperf.targets.host.once import await_once, call_once, is_awaited

        return run_in_loop(lambda: await_once(call)) if is_awaited(call) else call_once(call)

    async def time_awaited(self, name: str, call: Call) -> Any:  # noqa: ANN401, ARG002 - as above
        """Await a call once, in the running loop."""
        from pytest_devperf.targets.host.once import await_once

        return await await_once(call)

    def load(self, factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Load an object."""
        made = factory(*args, **kwargs)
        refuse_unfinished(factory, made)
        return made

    def model(self, model: Model) -> Any:  # noqa: ANN401 - outputs by name
        """Run a model once."""
        return self._run(model) or {}

    def command(self, command: Command) -> None:
        """Run a program once."""
        self._run(command)

    def paired(self, old: Workload, new: Workload) -> Any:  # noqa: ANN401 - outputs by name
        """Run both once; return the new one's outputs."""
        self._run(old)
        return self._run(new)

    def app(self, app: App) -> tuple[str, ...]:
        """Refuse to launch an app.

        Raises:
            Unsupported: Always: nothing would receive the reports of its cases.
        """
        raise Unsupported(
            f"app {app.id} hosts its own cases, so it runs only if they are measured",
            "use --devperf --devperf-target=android",
        )

    def record(self, name: str, value: float, *, unit: str, better: Better) -> None:
        """Record nothing."""

    def state(self, facts: Mapping[str, Any]) -> None:
        """Record nothing."""

    def give_up(self, reason: str) -> None:
        """Record nothing."""

    def _run(self, workload: Model | Command | Workload) -> Any:  # noqa: ANN401 - outputs by name
        from pytest_devperf.case.workload import Model
        from pytest_devperf.targets.awaited import result_of
        from pytest_devperf.targets.protocol import Surveying

        target = self._open_host()
        if isinstance(workload, Model) and isinstance(target, Surveying):
            target.survey(workload).require_method()
        with target.start(workload, 0) as runner:
            runner.run(1, 1)
            return result_of(runner)
