"""A simulated phone that has a file system, processes and a network of its own, as Linux allows it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path

from pytest_devperf.simphone.layout import CONTROL, isolated_layout
from pytest_devperf.simphone.lent import RUNTIME, find_lent
from pytest_devperf.simphone.sandbox import Sandbox
from pytest_devperf.simphone.stubs import make_stubs
from pytest_devperf.simphone.system import NotIsolatedError, System
from pytest_devperf.simphone.translate import Back

APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
"""Ubuntu's switch, on by default since 23.10: programs without a profile get no rights in their user namespaces."""


class IsolatedSandbox(Sandbox):
    """A phone that holds nothing of this machine but what is lent to it.

    Args:
        sdk: Level of Android's interface.

    Raises:
        NotIsolatedError: This machine does not allow it.
    """

    def __init__(self, sdk: int) -> None:
        if sys.platform != "linux":
            raise NotIsolatedError("only Linux has the namespaces that it takes")
        try:
            lent = find_lent()
        except LookupError as error:
            raise NotIsolatedError(str(error)) from error
        stubs = make_stubs(control=CONTROL, interpreter="/system/bin/sh", translating=False)
        layout = isolated_layout(lent, stubs, sdk=sdk)
        try:
            system = System({"isolate": True, "steps": layout.steps, "shown": layout.shown})
        except NotIsolatedError as error:
            raise NotIsolatedError(f"{error}{_remedy()}") from error
        self.has_locale = lent.locale is not None
        self._python = lent.interpreter
        shown, data = (Path(f"/proc/self/fd/{handle}") for handle in system.handles)
        super().__init__(system, shown=shown, control=shown / "control", data=data, apps=shown / "app")

    def place(self, path: str) -> str:
        """Give it as it is."""
        return path

    def shell_words(self, text: str) -> list[str]:
        """Give the phone's own shell."""
        return ["/system/bin/sh", *(("-c", text) if text else ("-s",))]

    def inward(self, data: bytes) -> bytes:
        """Give them as they are."""
        return data

    def outward(self) -> Back | None:
        """Nothing has to be translated."""
        return None

    @property
    def interpreter(self) -> tuple[str, Mapping[str, str]]:
        """The Python that the phone was lent, with its standard library alone."""
        if self._python is None:
            return sys.executable, {}  # not there: the app does not start, and its log says so
        return self._python, {"PYTHONHOME": RUNTIME, "LD_LIBRARY_PATH": f"{RUNTIME}/needed"}


def _remedy() -> str:
    """Name what allows it, if that is known."""
    with contextlib.suppress(OSError):
        if APPARMOR.read_text(encoding="ascii").strip() == "1":
            return f"; `sudo sysctl kernel.{APPARMOR.name}=0` allows it"
    return ""
