"""A report as GitHub's Markdown, for a comment on a pull request or the summary of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from pytest_devperf.compare.words import COARSE
from pytest_devperf.english import counted
from pytest_devperf.record.record import Run
from pytest_devperf.report.groups import Entry, Group, grouped, headline, run_names
from pytest_devperf.report.header import commit_line, context_line, device_line
from pytest_devperf.report.markdown.markup import code, prose
from pytest_devperf.report.outcome import OUTCOMES, word
from pytest_devperf.report.report import Report
from pytest_devperf.report.row import compared_rows, measured_rows
from pytest_devperf.report.suite_shift import shift_lines
from pytest_devperf.report.terminal.text import reliability_lines, shared_lines
from pytest_devperf.untrusted import excerpt

COMMENT_BYTES = 65_536
"""Most that GitHub takes as a comment: 65,536 characters, and no text has more of them than bytes."""

SUMMARY_BYTES = 1 << 20
"""Most that GitHub shows of a step's summary: 1 MiB.

Source: GitHub Docs, "Workflow commands for GitHub Actions", step isolation and limits.
"""

MARK = "<!-- pytest-devperf -->"
"""First line of the text: a script finds its earlier comment by it and replaces it."""

SWEEP_WIDTH = 100
"""Characters of a line of a sweep's table, which fits a comment."""

_LONGEST_NAME = 200
"""Characters of a name that are shown: node ids of people are shorter, and a table stays readable."""

_LEFT_OUT_BYTES = 400
"""Room for the sentence that counts what was left out."""

_COMPARED = "| case | metric | baseline | now | change | noise | verdict |\n| :-- | :-- | --: | --: | --: | --: | :-- |"

_MEASURED = "| case | metric | now | noise | quality |\n| :-- | :-- | --: | --: | :-- |"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """A part of the text that can be cut between two of its rows."""

    opening: str
    rows: tuple[str, ...]
    closing: str = ""
    noun: str
    """What a row is called in a count of those that were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """What there was room for of a section."""

    text: str
    rows: int


def render(report: Report, *, limit_bytes: int = COMMENT_BYTES) -> str:
    """Write a report: regressions first, then what else needs attention, unchanged cases folded away.

    Args:
        report: What a session came to.
        limit_bytes: Most bytes of the text in UTF-8; what does not fit is counted in a sentence.
    """
    *sections, places = _sections(report)
    head, foot = _head(report), _fitted(places, limit_bytes // 4)
    room = limit_bytes - _LEFT_OUT_BYTES - _size(head) - _size(foot.text)
    fitted = []
    for section in sections:
        fitted.append(_fitted(section, room))
        room -= _size(fitted[-1].text)
    left_out: Counter[str] = Counter()
    for section, part in zip((*sections, places), (*fitted, foot), strict=True):
        left_out[section.noun] += len(section.rows) - part.rows
    return "\n".join(filter(None, (head, *(part.text for part in fitted), _cut(left_out, limit_bytes), foot.text)))


def _cut(left_out: Counter[str], limit_bytes: int) -> str:
    """Count what was left out; empty if nothing was."""
    counts = ", ".join(counted(count, noun) for noun, count in left_out.items() if count)
    return f"_Left out, because this text may have no more than {limit_bytes:,} bytes: {counts}._\n" if counts else ""


def _fitted(section: _Section, room: int) -> _Fitted:
    """Write as many rows as there is room for; nothing if there is none for the first."""
    used = _size(section.opening) + _size(section.closing) + 1
    kept = 0
    for row in section.rows:
        used += _size(row)
        if used > room:
            break
        kept += 1
    if not kept:
        return _Fitted(text="", rows=0)
    return _Fitted(text="\n".join((section.opening, *section.rows[:kept], section.closing)), rows=kept)


def _head(report: Report) -> str:
    counts = [f"{_sign(kind)}{count} {word(kind)}" for kind, count in report.counts.items()]
    lines = [MARK, f"## Performance: {headline(report)}"]
    if counts:
        lines += ["", ", ".join(counts)]
    if report.compared_with:
        lines += ["", f"Compared with {code(_short(report.compared_with))}."]
    for line in shift_lines(report):
        lines += ["", f"**{prose(_short(line, 500))}.**"]
    return "\n".join((*lines, ""))


def _sections(report: Report) -> Iterator[_Section]:
    names = run_names(report) if len(report.runs) > 1 else ()
    for group in grouped(report):
        if group.compared:
            yield _tabulated(group, names)
            yield from _explained(group, names)
        else:
            yield _listed(group, names)
    yield from _sweeps(report)
    notes = [_short(line, 500) for run in report.runs for line in shared_lines(run)]
    notes += [*report.messages, *report.closing, *reliability_lines(report)]
    if notes:
        rows = tuple(f"- {prose(note)}" for note in dict.fromkeys(notes))
        yield _Section(opening="### Notes\n", rows=rows, noun="note")
    yield _Section(opening="### Measured on\n", rows=tuple(map(_place, report.runs)), noun="device")


def _sweeps(report: Report) -> Iterator[_Section]:
    """Rank the configurations of each sweep."""
    for run in report.runs:
        if any(record.sweep is not None for record in run.cases):
            from pytest_devperf.report.terminal.sweep import sweep_blocks

            blocks = sweep_blocks(run.cases, width=SWEEP_WIDTH)
            rows = tuple(f"<pre>{escape(chr(10).join(block))}</pre>" for block in blocks)
            yield _Section(opening="### Sweeps\n", rows=rows, noun="sweep")


def _tabulated(group: Group, names: Sequence[str]) -> _Section:
    compared = any(entry.record and entry.record.comparison for entry in group.entries)
    rows = tuple("\n".join(_rows(entry, names, compared=compared)) for entry in group.entries)
    table = _COMPARED if compared else _MEASURED
    if not group.quiet:
        return _Section(opening=f"### {group.title}\n\n{table}", rows=rows, noun=group.noun)
    title = f"<details>\n<summary>{group.title}: {counted(len(rows), 'case')}</summary>\n\n{table}"
    return _Section(opening=title, rows=rows, closing="\n</details>\n", noun=group.noun)


def _rows(entry: Entry, names: Sequence[str], *, compared: bool) -> Iterable[str]:
    """Write a case's metrics as rows of a table, its name in the first one."""
    if entry.record is None:
        return
    cells = compared_rows(entry.record) if compared else measured_rows(entry.record)
    for at, (_, metric, *values, last) in enumerate(cells):
        if compared:
            del values[-1]  # the smallest detectable change: comments are narrow
        shown = _verdict(entry.kind, last) if compared else last
        name = _named(entry, names) if at == 0 else ""
        yield f"| {' | '.join((name, code(_short(metric)) if metric else '', *map(prose, values), shown))} |"


def _explained(group: Group, names: Sequence[str]) -> Iterator[_Section]:
    """Explain each case of a group that needs an explanation, in sentences."""
    if group.quiet:
        return
    rows = tuple(
        f"- {_named(entry, names)}: {prose(_short(words, 1000))}" for entry in group.entries if (words := entry.reason)
    )
    if rows:
        yield _Section(opening="", rows=rows, noun="explanation")


def _listed(group: Group, names: Sequence[str]) -> _Section:
    rows = tuple(
        f"- {_sign(entry.kind)}**{word(entry.kind)}** {_named(entry, names)}"
        + (f": {prose(_short(entry.reason, 1000))}" if entry.reason else "")
        for entry in group.entries
    )
    return _Section(opening=f"### {group.title}\n", rows=rows, noun=group.noun)


def _place(run: Run) -> str:
    facts = [device_line(run.device), context_line(run.run_context)]
    commit = commit_line(run.commit)
    facts += [f"commit {commit}"] if commit else []
    return f"- {prose('; '.join(filter(None, facts)))}"


def _named(entry: Entry, names: Sequence[str]) -> str:
    on = f" on {prose(_short(names[entry.run]))}" if names else ""
    return f"{code(_short(entry.id))}{on}"


def _verdict(kind: str, cell: str) -> str:
    """Write a verdict's cell in bold; a sign belongs to the verdict of the case alone."""
    plain = cell.removesuffix(f" {COARSE}")
    return f"{_sign(kind)}**{cell}**" if plain == word(kind) and OUTCOMES[kind].sign else cell


def _sign(kind: str) -> str:
    return f"{OUTCOMES[kind].sign} " if OUTCOMES[kind].sign else ""


def _short(text: str, most: int = _LONGEST_NAME) -> str:
    return excerpt(text, most)


def _size(text: str) -> int:
    return len(text.encode()) + len("\n")
