"""A simulated phone with its own file system, processes and network, if Linux allows it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_devperf.simphone.isolation.host_files import RUNTIME, find_host_files
from pytest_devperf.simphone.isolation.layout import CONTROL, isolated_layout
from pytest_devperf.simphone.isolation.sandbox import Sandbox
from pytest_devperf.simphone.isolation.stubs import make_stubs
from pytest_devperf.simphone.isolation.system import NotIsolatedError, System
from pytest_devperf.simphone.isolation.translate import OutputTranslator

APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
"""Ubuntu's switch, on by default since 23.10: programs without a profile get no rights in their user namespaces."""


class IsolatedSandbox(Sandbox):
    """A phone that sees nothing of this machine except some programs and libraries.

    Args:
        commands: Names of the commands of Android that are simulated.
        sdk: Level of Android's interface.

    Raises:
        NotIsolatedError: This machine does not allow it.
    """

    def __init__(self, commands: Iterable[str], sdk: int) -> None:
        if sys.platform != "linux":
            raise NotIsolatedError("only Linux has the namespaces that it takes")
        try:
            host_files = find_host_files()
        except LookupError as error:
            raise NotIsolatedError(str(error)) from error
        stubs = make_stubs(commands, control=CONTROL, interpreter="/system/bin/sh", translating=False)
        layout = isolated_layout(host_files, stubs, sdk=sdk)
        try:
            system = System({"isolate": True, "steps": layout.steps, "shown": layout.shown})
        except NotIsolatedError as error:
            raise NotIsolatedError(f"{error}{_remedy()}") from error
        self.has_locale = host_files.locale is not None
        self._python = host_files.interpreter
        shown, data = (Path(f"/proc/self/fd/{handle}") for handle in system.handles)
        super().__init__(system, shown=shown, control=shown / "control", data=data, apps=shown / "app")

    def place(self, path: str) -> str:
        """Return it unchanged."""
        return path

    def shell_words(self, text: str) -> list[str]:
        """Return the phone's own shell."""
        return ["/system/bin/sh", *(("-c", text) if text else ("-s",))]

    def inward(self, data: bytes) -> bytes:
        """Return it unchanged."""
        return data

    def outward(self) -> OutputTranslator | None:
        """Return None: nothing has to be translated."""
        return None

    @property
    def interpreter(self) -> tuple[str, Mapping[str, str]]:
        """The Python that the phone gets, with only its standard library."""
        if self._python is None:
            return sys.executable, {}  # does not exist on the phone: the app fails to start, and its log shows it
        return self._python, {"PYTHONHOME": RUNTIME, "LD_LIBRARY_PATH": f"{RUNTIME}/needed"}


def _remedy() -> str:
    """Return how to allow it, if known."""
    with contextlib.suppress(OSError):
        if APPARMOR.read_text(encoding="ascii").strip() == "1":
            return f"; `sudo sysctl kernel.{APPARMOR.name}=0` allows it"
    return ""
