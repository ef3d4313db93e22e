"""What one session came to; every renderer starts from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_devperf.record.record import Record, Run

KINDS = (
    "regressed",
    "failed",
    "error",
    "suspect",
    "incomparable",
    "inconclusive",
    "missing",
    "new",
    "skipped",
    "pending",
    "improved",
    "within_noise",
    "measured",
)
"""Everything that can become of a case, what needs attention first.

`pending`: the session ended before its last process start. `measured`: there was nothing to compare with.
`inconclusive` without a comparison: too slow to be measured at all.
"""

_VERDICTS = frozenset({"regressed", "improved", "within_noise", "suspect"})
"""Verdicts that a comparison of numbers ends in; the others say that there was none."""


def kind_of(record: Record) -> str:
    """Tell what became of a case, one of `KINDS`.

    A test that failed by itself has failed, whatever its numbers say.
    """
    verdict = record.comparison.verdict if record.comparison else None
    if record.outcome != "passed" and verdict != "regressed":
        return record.outcome
    if verdict is None and any(each.stop == "too-slow" for each in record.metrics):
        return "inconclusive"
    return verdict or "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A run that was kept."""

    label: str
    path: str
    """Where it is: a path as the user would type it, or a URL."""
    refusals: tuple[str, ...] = ()
    """Refusing cautions it carries: comparisons with it will be refused."""
    held_back: tuple[str, ...] = ()
    """Ids of cases that regressed and so keep their old baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one session came to."""

    runs: tuple[Run, ...] = ()
    """One per device, in the order the devices were met; each with its cases, comparisons and missing ids."""
    target: str = "auto"
    """The target that was asked for."""
    compared_with: str | None = None
    """Label or file; None: nothing was to be compared."""
    saved: tuple[Saved, ...] = ()
    messages: tuple[str, ...] = ()
    """What has to be told once for the whole session, a sentence each."""
    closing: tuple[str, ...] = ()
    """What the last line has to say besides (a phone that is not set up)."""
    expected_false_alarms: float | None = None
    """How many verdicts `regressed` this comparison would give on average if nothing had changed."""
    pending: int = 0
    """Cases that a session's early end left unfinished."""

    @property
    def cases(self) -> Iterator[tuple[int, Record]]:
        """Every case with the index of its run in `runs`."""
        return ((at, record) for at, run in enumerate(self.runs) for record in run.cases)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many cases came to what, in the order of `KINDS`; what did not happen is left out."""
        found = Counter(kind_of(record) for _, record in self.cases)
        found["missing"] += sum(len(run.missing) for run in self.runs)
        found["pending"] += self.pending
        return {kind: found[kind] for kind in KINDS if found[kind]}

    @property
    def compared(self) -> int:
        """How many cases were compared by their numbers."""
        return sum(1 for _, record in self.cases if record.comparison and record.comparison.verdict in _VERDICTS)

    @property
    def nothing_compared(self) -> bool:
        """Whether a comparison was wanted, cases were selected or are missing, and none got one.

        A label's first run, which the same session saves, is no failed comparison: all its cases are new.
        """
        counts = self.counts
        saves_it = any(saved.label == self.compared_with for saved in self.saved)
        first = saves_it and set(counts) <= {"new", "skipped", "missing"} and "new" in counts
        return bool(self.compared_with and counts and not self.compared and not first)
