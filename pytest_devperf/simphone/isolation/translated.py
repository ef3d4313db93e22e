"""A simulated phone in a folder of this machine, for systems that cannot isolate it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_devperf.simphone.isolation.host_files import find_tools
from pytest_devperf.simphone.isolation.layout import APPS, WRITABLE, translated_layout
from pytest_devperf.simphone.isolation.sandbox import SHELL_FOLDER, Sandbox
from pytest_devperf.simphone.isolation.stubs import make_stubs
from pytest_devperf.simphone.isolation.system import System
from pytest_devperf.simphone.isolation.translate import OutputTranslator, sed_script, to_sandbox


class TranslatedSandbox(Sandbox):
    """A phone that sees this machine's files through paths that are not translated.

    Args:
        commands: Names of the commands of Android that are simulated.
        barrier: Why it is not isolated.
    """

    def __init__(self, commands: Iterable[str], barrier: str) -> None:
        self.barrier = barrier
        # realpath: the output must contain exactly the name that is removed from it again
        base = Path(os.path.realpath(tempfile.mkdtemp(prefix="devperf-sim-")))
        self._root = base / "phone"
        control = base / "control"
        control.mkdir()
        (control / "paths.sed").write_text(sed_script(self._root), encoding="utf-8")
        stubs = make_stubs(commands, control=str(control), interpreter="/bin/sh", translating=True)
        steps = translated_layout(find_tools(), stubs).steps
        plan = {"isolate": False, "base": str(base), "steps": steps, "writable": WRITABLE}
        try:
            system = System(plan)
        except BaseException:
            shutil.rmtree(base, ignore_errors=True)
            raise
        super().__init__(
            system,
            shown=self._root,
            control=control,
            data=self._root / SHELL_FOLDER.lstrip("/"),
            apps=self._root / APPS.lstrip("/"),
        )

    def place(self, path: str) -> str:
        """Prefix it with the folder."""
        return f"{self._root}{path}" if path != "/" else str(self._root)

    def shell_words(self, text: str) -> list[str]:
        """Return this machine's shell, and the translated command."""
        return ["/bin/sh", *(("-c", to_sandbox(text, self._root)) if text else ("-s",))]

    def inward(self, data: bytes) -> bytes:
        """Translate it like any shell command."""
        return os.fsencode(to_sandbox(os.fsdecode(data), self._root))

    def outward(self) -> OutputTranslator | None:
        """Remove the folder from output."""
        return OutputTranslator(self._root)

    def control_path(self, name: str) -> str:
        """Return its path on this machine."""
        return str(self.control / name)

    @property
    def interpreter(self) -> tuple[str, Mapping[str, str]]:
        """This session's own Python."""
        return sys.executable, {}
