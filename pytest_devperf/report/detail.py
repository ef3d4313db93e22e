"""Render details of one case: stability, summaries, and the explanation of a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_devperf import stats
from pytest_devperf.compare.words import format_count
from pytest_devperf.english import counted
from pytest_devperf.record.record import Measurement, Record
from pytest_devperf.report.row import COMPARED, compared_rows
from pytest_devperf.report.table import lay_out, wrapped
from pytest_devperf.report.units import digits, format_percent, format_time, format_value, scale_for
from pytest_devperf.untrusted import printable


def stable_lines(record: Record) -> tuple[str, ...]:
    """Describe the stability of the main time metric in exactly two lines; empty if there is no such metric."""
    stable = record.stable
    if stable is None:
        return ()
    ended = "converged" if stable.converged else "not converged"
    rounds = f"{counted(stable.rounds_run, 'round')} of {counted(stable.iters_per_round, 'iteration')}"
    spread = "unknown" if stable.round_cov is None else format_percent(100 * stable.round_cov)
    first = f"robust {format_time(stable.robust_latency_ms)}, round CoV {spread}, {stable.quality}, {rounds}, {ended}"
    unit, size = scale_for(stable.robust_latency_ms, "ms")
    second = f"round medians {' '.join(digits(each / size) for each in stable.round_medians_ms)} {unit}"
    return first, second


def stats_line(held: Measurement) -> str:
    """Render a metric's summary as one line; empty if it has none."""
    if held.summary is None:
        return ""
    summary = held.summary
    values = (
        f"{name} {format_value(getattr(summary, name), held.unit)}"
        for name in ("mean", "p50", "p90", "p99", "min", "max", "std")
    )
    rate = f", {digits(summary.per_s)}/s" if summary.per_s else ""
    return f"{held.name}: {', '.join(values)}{rate}"


def counters_line(held: Measurement) -> str:
    """Render a metric's hardware counters as one line, the median of its rounds; empty if it has none."""
    known = {name: [each for each in row if each is not None] for name, row in held.counters.items()}
    counts = [f"{format_count(stats.median(row))} {name}" for name, row in known.items() if row]
    return f"{held.name}: {' and '.join(counts)} per call by the hardware's counters" if counts else ""


def detail_lines(record: Record) -> list[str]:
    """Return the lines that a verbose report adds for a case: stability, summaries, sensors, skipped methods."""
    lines = [*stable_lines(record), *filter(None, map(stats_line, record.metrics))]
    lines += filter(None, map(counters_line, record.metrics))
    lines += [f"{name}: up to {celsius:.1f} °C" for name, celsius in record.run_context.sensors_max_c.items()]
    lines += [f"{each.method} not measured: {each.reason}" for each in record.skipped_methods]
    return [printable(line) for line in lines]


def caution_words(record: Record) -> Iterator[tuple[str, str]]:
    """Return a case's cautions with their causes, including those of the comparison."""
    seen_by_both = record.comparison.cautions if record.comparison else {}
    for slug in dict.fromkeys((*record.cautions, *seen_by_both)):
        yield slug, seen_by_both.get(slug) or record.caution_notes.get(slug) or ""


def caution_lines(record: Record) -> list[str]:
    """Render a case's cautions, one per line."""
    return [printable(f"caution {slug}: {words}".rstrip(": ")) for slug, words in caution_words(record)]


def brief_failure_text(record: Record) -> str:
    """Explain a regression above a table of all cases and a list of all cautions: only what they do not contain."""
    whole = failure_text(record)
    comparison = record.comparison
    if comparison is None:
        return whole
    sentences = whole.partition("\n\n")[0]
    facts = []
    if comparison.baseline_runs:
        facts.append(f"baseline: {_runs_words(comparison.baseline_runs)}")
    slugs = [slug for slug, _ in caution_words(record)]
    if slugs:
        facts.append(f"cautions: {', '.join(slugs)}")
    return "\n".join([sentences, "", *map(printable, facts)]) if facts else sentences


def failure_text(record: Record, width: int = 80) -> str:
    """Explain a regression: sentences, values before and after, cautions, and notes.

    Args:
        record: A case with its comparison.
        width: Line width in characters; sentences are not wrapped, so that they can be searched for.
    """
    from pytest_devperf.compare.where import where_lines
    from pytest_devperf.compare.words import sentence

    comparison = record.comparison
    if comparison is None:
        return printable(record.reason or "")
    worse = [change for change in comparison.changes if change.verdict == comparison.verdict]
    lines = [printable(sentence(change)) for change in worse]
    lines += [printable(words) for words in (comparison.disagreement, comparison.reason) if words]
    lines += map(printable, where_lines(comparison))
    table = lay_out(COMPARED[1:], [row[1:] for row in compared_rows(record)], width)
    if table:
        lines += ["", *table]
    remarks = caution_lines(record) + [printable(f"note: {note}") for note in comparison.notes]
    if remarks:
        lines += ["", *(part for line in remarks for part in wrapped(line, width, indent="    "))]
    if comparison.baseline_runs:
        baseline = printable(f"baseline: {_runs_words(comparison.baseline_runs)}")
        lines += ["", *wrapped(baseline, width, indent="    ")]
    return "\n".join(lines)


def _runs_words(ids: Sequence[str]) -> str:
    return f"{counted(len(ids), 'run')} ({', '.join(ids)})"
