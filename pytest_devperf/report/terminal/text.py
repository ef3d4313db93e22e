"""Render a report as lines of text for a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pytest_devperf.compare.words import COARSE_PERCENT, coarse, too_slow
from pytest_devperf.english import counted
from pytest_devperf.record.record import Record, Run
from pytest_devperf.report.detail import caution_words, detail_lines
from pytest_devperf.report.header import context_line, device_line, run_line
from pytest_devperf.report.outcome import word
from pytest_devperf.report.report import Report, Saved, kind_of
from pytest_devperf.report.row import COMPARED, MEASURED, compared_rows, measured_rows
from pytest_devperf.report.suite_shift import shift_lines
from pytest_devperf.report.table import lay_out, wrapped
from pytest_devperf.report.terminal.paint import Paint, no_paint, painted_kind, painted_word
from pytest_devperf.untrusted import printable

_NAMED_CASES = 3
"""Case ids listed for a caution that many cases share; the others are counted."""

WORTH_KNOWING = 0.05
"""Expected false alarms that are mentioned without being asked for: one session in twenty has one."""


def render(
    report: Report, *, width: int = 80, verbosity: int = 0, paint: Paint = no_paint, explained: Collection[str] = ()
) -> str:
    """Render everything that is shown below a session.

    Args:
        report: The report of the session.
        width: Line width in characters.
        verbosity: From 1: every metric, two lines on stability per case, and summaries.
        paint: Colours verdicts and grades.
        explained: Ids of cases whose reasons were shown before.
    """
    shared = [printable(line) for line in shift_lines(report)]
    blocks: list[list[str]] = [[paint(line, "warn") for line in _wrapped(shared, width)]]
    for run in report.runs:
        if len(report.runs) > 1:
            blocks.append(_wrapped(_title(run, report), width))
        blocks.append(table_lines(run.cases, width=width, all_metrics=verbosity > 0, paint=paint))
        if verbosity > 0:
            blocks += [_detail(record, width) for record in run.cases]
        blocks.append(_reason_lines(run, explained, width, paint))
        blocks.append(_wrapped(shared_lines(run), width))
        if any(record.sweep is not None for record in run.cases):
            from pytest_devperf.report.terminal.sweep import sweep_blocks

            blocks += sweep_blocks(run.cases, width=width)
    reliability = reliability_lines(report, fewest_false_alarms=0.0 if verbosity > 0 else WORTH_KNOWING)
    blocks.append(_wrapped([*map(printable, report.messages), *reliability], width))
    blocks.append([printable(f"saved in {saved.path}") for saved in report.saved])
    blocks.append([summary_line(report, paint)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def table_lines(
    records: Sequence[Record], *, width: int = 80, all_metrics: bool = False, paint: Paint = no_paint
) -> list[str]:
    """Render the table of the cases, next to their baselines if there are any.

    Args:
        records: The cases.
        width: Line width in characters.
        all_metrics: Whether to show every metric in a row of its own, including those that are never compared.
        paint: Colours verdicts and grades.
    """
    mark = partial(painted_word, paint=paint)
    if any(record.comparison is not None for record in records):
        rows = [
            row for record in records for row in compared_rows(record, all_metrics=all_metrics, folded=not all_metrics)
        ]
        return lay_out(COMPARED, rows, width, mark)
    rows = [row for record in records for row in measured_rows(record, all_metrics=all_metrics)]
    return lay_out(MEASURED, rows, width, mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a case did not simply pass."""

    kind: str
    """Its outcome, one of `OUTCOMES`."""
    id: str
    parts: tuple[str, ...]

    @property
    def words(self) -> str:
        """All parts in one line."""
        return "; ".join(self.parts)


def reasons(run: Run) -> Iterator[Reason]:
    """Return the reason of every case that did not simply pass, and of cases missing from the run."""
    for record in run.cases:
        parts = tuple(_reasons(record))
        if parts:
            yield Reason(kind=kind_of(record), id=record.id, parts=parts)
    for each in run.missing:
        yield Reason(kind="missing", id=each, parts=("in the baseline, but not measured",))


def _reason_lines(run: Run, explained: Collection[str], width: int, paint: Paint) -> list[str]:
    """Render the reasons, their first words coloured; those that several cases share appear once."""
    sharing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for reason in reasons(run):
        if reason.id not in explained:
            sharing[reason.kind, reason.words].append(reason.id)
    lines = []
    for (kind, words), ids in sharing.items():
        head = word(kind)
        first, *rest = _wrapped([printable(f"{head} {_names(ids, len(run.cases))}: {words}")], width)
        lines += [painted_kind(head, kind, paint) + first.removeprefix(head), *rest]
    return lines


def shared_lines(run: Run) -> list[str]:
    """Render cautions and notes; those that several cases share appear once."""
    sharing: dict[str, dict[str, str]] = defaultdict(dict)
    for record in run.cases:
        for slug, words in caution_words(record):
            sharing[f"caution {slug}"][record.id] = words
        for note in record.comparison.notes if record.comparison else ():
            sharing[f"note: {note}"][record.id] = ""
    return [printable(_shared_line(what, by_case, len(run.cases))) for what, by_case in sharing.items()]


def summary_line(report: Report, paint: Paint = no_paint) -> str:
    """Count every kind of outcome in one line, and name the baseline and the saved run."""
    counts = [painted_kind(f"{count} {word(kind)}", kind, paint) for kind, count in report.counts.items()]
    parts = [f"devperf: {', '.join(counts) or 'no case was measured'}"]
    if report.compared_with:
        compared = printable(_compared(report))
        parts.append(paint(compared, "bad") if report.nothing_compared else compared)
    parts += map(printable, dict.fromkeys(saved_words(saved) for saved in report.saved))  # once for all devices
    return "; ".join((*parts, *map(printable, report.closing)))


def _detail(record: Record, width: int) -> list[str]:
    lines = [f"  {line}" for detail in detail_lines(record) for line in wrapped(detail, width - len("  "), indent="  ")]
    return [printable(record.id), *lines] if lines else []


def _title(run: Run, report: Report) -> list[str]:
    """Return a title that distinguishes a run: its device, and its label and time if the device is not unique."""
    same = [other for other in report.runs if other.device.fingerprint == run.device.fingerprint]
    which = [run_line(run)] if len(same) > 1 else []
    return [*which, device_line(run.device), *filter(None, [context_line(run.run_context)])]


def _reasons(record: Record) -> list[str]:
    """Return the sentences that explain a case's verdict; empty for a plain pass and for a new case."""
    own = [record.reason] if record.reason and record.outcome != "passed" else []
    comparison = record.comparison
    if comparison is None:
        own += [f"{each.name}: {too_slow(each)}" for each in record.metrics if each.stop == "too-slow"]
    if comparison is None or kind_of(record) in {"new", "failed", "error", "skipped"}:
        return own
    from pytest_devperf.compare.where import where_lines
    from pytest_devperf.compare.words import sentence

    explained = {"regressed", "suspect"}
    found = [sentence(change) for change in comparison.changes if change.verdict in explained]
    whole = comparison.reason or ""
    if whole and comparison.verdict not in explained:
        found.append(whole)
    found += [comparison.disagreement] if comparison.disagreement else []
    found += [
        f"{change.metric}: {change.reason}"
        for change in comparison.changes
        if change.reason and change.verdict not in explained and change.verdict != "new" and change.reason not in whole
    ]
    return found + where_lines(comparison)


def _compared(report: Report) -> str:
    if report.nothing_compared:
        return f"NOTHING was compared with {report.compared_with}"
    if report.counts.get("new") and not report.compared:
        return f"there is no run of {report.compared_with} to compare with yet"
    return f"compared with {report.compared_with}"


def saved_words(saved: Saved) -> str:
    """Describe what was saved, and what it is worth."""
    text = f"saved as {saved.label}"
    if saved.refusals:
        text = f"saved, but will refuse comparison: {', '.join(saved.refusals)}"
    if saved.held_back:
        text += f" ({len(saved.held_back)} regressed kept their old baseline)"
    return text


def reliability_lines(report: Report, *, fewest_false_alarms: float = 0.0) -> list[str]:
    """Return sentences on how reliable the verdicts are as a whole.

    Args:
        report: The report of a session.
        fewest_false_alarms: Expected number below which false alarms are not mentioned.
    """
    lines: list[str] = []
    changes = (change for _, record in report.cases if record.comparison for change in record.comparison.changes)
    unseen = sum(map(coarse, changes))
    if unseen:
        lines.append(
            f"coarse: {counted(unseen, 'verdict')} 'within noise' could not have seen a change of {COARSE_PERCENT:g} "
            "%: smaller changes show on a quieter device, or with more saved runs (--devperf-append)"
        )
    alarms = report.expected_false_alarms
    if alarms is not None and report.compared and alarms >= fewest_false_alarms:
        lines.append(f"expected false alarms in this run if nothing had changed: {alarms:.2g}")
    return lines


def _shared_line(what: str, by_case: Mapping[str, str], cases: int) -> str:
    """Render what several cases share, in the words of the first one."""
    words = list(by_case.values())
    alike = "" if len(set(words)) == 1 else ", similar in the others"
    return f"{what}{f': {words[0]}{alike}' if words[0] else ''} ({_names(list(by_case), cases)})"


def _names(ids: Sequence[str], cases: int) -> str:
    if len(ids) == cases > 1:
        return "all cases"
    named = ", ".join(printable(each) for each in ids[:_NAMED_CASES])
    return f"{named} and {len(ids) - _NAMED_CASES} more" if len(ids) > _NAMED_CASES else named


def _wrapped(lines: Iterable[str], width: int) -> list[str]:
    return [part for line in lines for part in wrapped(line, width, indent="    ")]
