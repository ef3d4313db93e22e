"""The programs that run models on a phone: the runner and library for ONNX models, and tools for other formats."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pytest_devperf.errors import Unsupported
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.runner.onnx import describe
from pytest_devperf.targets.android.runner.reply import RunnerReply
from pytest_devperf.targets.android.runner.setup import Setup, find_setup, set_up_simulated
from pytest_devperf.targets.android.tools.tool import Tool, ask_tool, find_tool, has_tools
from pytest_devperf.targets.device import Device


class Toolchain:
    """The programs that are set up for one phone; each is asked about itself once, on the phone."""

    def __init__(self, link: Link, device: Device, *, runner: Path | None, library: Path | None) -> None:
        """Prepare the toolchain, without looking for any program.

        Args:
            link: The link to the phone.
            device: The phone.
            runner: ONNX runner to use instead of the one that was set up.
            library: Runtime library to use instead of the one that was set up.
        """
        self._link = link
        self._abi = device.abi or "unknown"
        self._simulated = device.kind == "sim"
        self._named = (runner, library)
        self._about: RunnerReply | None = None
        self._tools: dict[str, Tool] = {}

    @property
    def anchor(self) -> str | None:
        """Identity of the runner's anchor kernel; None until the runner was asked."""
        return None if self._about is None else self._about.anchor

    def setup(self) -> Setup:
        """Find the runner and the library for the phone.

        Raises:
            Unsupported: They are not set up.
        """
        runner, library = self._named
        if self._simulated and runner is None:
            return set_up_simulated()
        return find_setup(self._abi, runner=runner, library=library)

    def learn(self, setup: Setup) -> None:
        """Ask the runner once for its anchor kernel.

        Raises:
            CaseError: It cannot run on the phone.
            TargetError: The phone is gone.
        """
        if self._about is None:
            self._about = describe(setup, self._link)

    def anchor_runner(self) -> Path | None:
        """Find the runner, to time only its anchor kernel; None if none is set up.

        Raises:
            CaseError: It cannot run on the phone.
            TargetError: The phone is gone.
        """
        try:
            setup = self.setup()
        except Unsupported:
            return None
        self.learn(setup)
        return setup.runner

    def tool(self, name: str) -> Tool:
        """Find a native tool, and ask it once for its options.

        Raises:
            Unsupported: It is not set up.
            CaseError: It cannot run on the phone.
            TargetError: The phone is gone.
        """
        path = find_tool(name, self._abi, simulated=self._simulated)
        if name not in self._tools:
            self._tools[name] = ask_tool(name, path, self._link)
        return self._tools[name]

    def runs_models(self) -> bool:
        """Check whether models can run: runner and library are set up, or a tool for another format is."""
        with suppress(Unsupported):
            self.setup()
            return True
        return has_tools(self._abi, simulated=self._simulated)
