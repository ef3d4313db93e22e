"""The result of a process start of one case, independent of how it was run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_devperf.errors import DevperfError
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.launch.follow import WorkerResult
from pytest_devperf.session.starts.start import Role

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class OldFound:
    """The result of the old side of a pair."""

    result: WorkerResult
    crashed: bool = False
    """Whether an interpreter of the pair ended before its last case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFound:
    """The result of one process start for one case."""

    state: CaseState
    process: int
    role: Role = "rounds"
    result: WorkerResult | None = None
    """None: this start has no result for the case, which another start has to measure."""
    problem: DevperfError | None = None
    """Why it was not measured."""
    prerun: Context | None = None
    """This machine before the start, idle."""
    old: OldFound | None = None
    pair: int | None = None
    """Number of the pair that this result completes."""

    def words(self, starts: int = 0) -> str:
        """Name the process start, of how many if that is known."""
        if self.role == "counted":
            return "the process start that counts instructions"
        return f"process start {self.process + 1}{f' of {max(starts, self.process + 1)}' if starts else ''}"
