"""How every program on a phone is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.phone.sensors import Surround
from pytest_devperf.targets.android.runner.setup import RUNNER


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How programs run on a phone, and how the context of a round is read."""

    link: Link
    """The phone."""
    runner: Path | None
    """The ONNX runner, which also times the anchor kernel; None: there is no anchor."""
    prefix: str
    """Shell words before the program (`taskset f0`)."""
    policies: Sequence[str]
    """Frequency policies whose caps are sampled while it runs."""
    surround: Surround
    """Returns the context of a round."""

    def with_runner(self, files: dict[str, Path]) -> dict[str, Path]:
        """Add the runner to the files of a program."""
        return files if self.runner is None else {RUNNER: self.runner, **files}
