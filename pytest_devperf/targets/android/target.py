"""An Android phone as a target: commands, models and apps that run on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pytest_devperf.case.workload import App, Command, Model, Workload
from pytest_devperf.errors import Unsupported
from pytest_devperf.targets.android.claimed_phone import ClaimedPhone
from pytest_devperf.targets.android.runner.onnx import start_model, survey
from pytest_devperf.targets.android.tools.command import start_command
from pytest_devperf.targets.android.tools.conditions import Conditions
from pytest_devperf.targets.android.tools.methods import runs_with_tool, survey_with_tool, tool_of
from pytest_devperf.targets.android.tools.model import start_with_tool
from pytest_devperf.targets.protocol import Runner
from pytest_devperf.targets.survey import Survey

if TYPE_CHECKING:
    from pytest_devperf.targets.app.wire import CaseReport, Task

POLICY_FOLDER = "/sys/devices/system/cpu/cpufreq"


class AndroidTarget(ClaimedPhone):
    """An Android phone that runs workloads."""

    def start(self, workload: Workload, process: int) -> AbstractContextManager[Runner]:
        """Load the workload in a new process on the phone, yield its runner, and unload it.

        Raises:
            Unsupported: The workload is a Python call or an app, or no runner is set up for this phone.
            CaseError: The workload is wrong.
            TargetError: The phone is gone.
        """
        if isinstance(workload, Model) and runs_with_tool(workload):
            self.claim()
            return start_with_tool(workload, self.toolchain.tool(tool_of(workload)), self._conditions())
        if isinstance(workload, Model):
            setup = self.toolchain.setup()
            self.claim()
            self.toolchain.learn(setup)
            return start_model(
                workload,
                self._link,
                setup,
                watch={policy: f"{POLICY_FOLDER}/{policy}/scaling_max_freq" for policy in self._sensors.policies},
                surround=self._sensors.surround,
                prefix=self._prefix,
            )
        if isinstance(workload, Command):
            self.claim()
            return start_command(workload, process, self._conditions())
        kind = "a Python call only runs on the host" if not isinstance(workload, App) else "an app hosts its own cases"
        raise Unsupported(f"{kind}, not on {self.device.name}", "measure it with --devperf-target=host")

    def host(self, app: App, task: Task, *, build: bool, announce: Callable[[str], None]) -> Iterator[CaseReport]:
        """Start an app that hosts its own cases, yield the report of each case when it arrives, and end the app.

        Args:
            app: The app.
            task: Its task.
            build: Whether to run the app's `build` command first.
            announce: Shows a sentence to the user.

        Raises:
            Unsupported: The app is for another kind of phone.
            CaseError: The app is missing, or ended its run without a case that it must report.
            TargetError: The phone is gone, or the app sent nothing in time.
        """
        from pytest_devperf.targets.android.app import host_app
        from pytest_devperf.targets.app.launch import require_platform

        require_platform(app, "android", self.device)
        self.claim()
        return host_app(app, task, self._link, build=build, announce=announce)

    def survey(self, workload: Model) -> Survey:
        """Read the model's schema; the phone is asked once, and only for the options of a native tool.

        Raises:
            Unsupported: No tool for this kind of file is set up.
            CaseError: The model, an option or an input is wrong.
        """
        if runs_with_tool(workload):
            return survey_with_tool(workload, self.toolchain.tool(tool_of(workload)))
        return survey(workload)

    def _conditions(self) -> Conditions:
        """Describe how programs run on the phone, and how the context of a round is read."""
        return Conditions(
            link=self._link,
            runner=self.toolchain.anchor_runner(),
            prefix=self._prefix,
            policies=self._sensors.policies,
            surround=self._sensors.surround,
        )
