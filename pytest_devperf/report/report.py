"""The results of one session, the input of every renderer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_devperf.compare.tally import JUDGED
from pytest_devperf.record.record import Record, Run
from pytest_devperf.report.outcome import OUTCOMES


def kind_of(record: Record) -> str:
    """Return the outcome of a case, one of `OUTCOMES`.

    A test that failed by itself counts as failed, whatever its values.
    """
    verdict = record.comparison.verdict if record.comparison else None
    if record.outcome != "passed" and verdict != "regressed":
        return record.outcome
    if verdict is None and any(each.stop == "too-slow" for each in record.metrics):
        return "inconclusive"
    return verdict or "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A saved run."""

    label: str
    path: str
    """Its location: a path as the user would type it, or a URL."""
    refusals: tuple[str, ...] = ()
    """Its refusing cautions: comparisons with it will be refused."""
    held_back: tuple[str, ...] = ()
    """Ids of cases that regressed and therefore keep their old baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results of one session."""

    runs: tuple[Run, ...] = ()
    """One run per device, in the order of first use; each with its cases, comparisons and missing ids."""
    target: str = "auto"
    """The requested target."""
    compared_with: str | None = None
    """Label or file; None: no comparison was requested."""
    saved: tuple[Saved, ...] = ()
    messages: tuple[str, ...] = ()
    """Sentences that are printed once for the whole session."""
    closing: tuple[str, ...] = ()
    """Sentences for the last line (a phone that is not set up)."""
    expected_false_alarms: float | None = None
    """Expected number of `regressed` verdicts in this comparison if nothing had changed."""
    pending: int = 0
    """Cases that were not finished because the session ended early."""

    @property
    def cases(self) -> Iterator[tuple[int, Record]]:
        """Return every case with the index of its run in `runs`."""
        return ((at, record) for at, run in enumerate(self.runs) for record in run.cases)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of cases by outcome, in the order of `OUTCOMES`, without zeros."""
        found = Counter(kind_of(record) for _, record in self.cases)
        found["missing"] += sum(len(run.missing) for run in self.runs)
        found["pending"] += self.pending
        return {kind: found[kind] for kind in OUTCOMES if found[kind]}

    @property
    def compared(self) -> int:
        """Number of cases whose values were compared."""
        return sum(1 for _, record in self.cases if record.comparison and record.comparison.verdict in JUDGED)

    @property
    def nothing_compared(self) -> bool:
        """Whether a comparison was requested, cases were selected or are missing, and none was compared.

        The first run of a label, saved by the same session, is not a failed comparison: all its cases are new.
        """
        counts = self.counts
        saves_it = any(saved.label == self.compared_with for saved in self.saved)
        first = saves_it and set(counts) <= {"new", "skipped", "missing"} and "new" in counts
        return bool(self.compared_with and counts and not self.compared and not first)
