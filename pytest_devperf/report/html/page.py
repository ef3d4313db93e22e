"""The page: one file that contains its style, charts, numbers and texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from pytest_devperf.compare.history import Baseline
from pytest_devperf.english import counted
from pytest_devperf.record.outline import AnyRun
from pytest_devperf.record.record import Run
from pytest_devperf.report.groups import Entry, grouped, headline, run_names
from pytest_devperf.report.header import commit_line, context_line, device_line, run_line, settings_line
from pytest_devperf.report.html.case import Case, badge, write_case
from pytest_devperf.report.html.elements import Content, Html, el
from pytest_devperf.report.html.past import Past, pasts_of
from pytest_devperf.report.html.state import Side
from pytest_devperf.report.outcome import OUTCOMES, word
from pytest_devperf.report.report import Report
from pytest_devperf.report.suite_shift import shift_lines
from pytest_devperf.report.terminal.text import reliability_lines, saved_words, shared_lines

SWEEP_WIDTH = 110
"""Characters of a line of a sweep's table, which fits a wide window; a narrow one scrolls."""

UNFOLDED = 3
"""Regressions that show their charts at once: more would hide the list of cases."""

_SORTS = {
    "attention": "needs attention first",
    "change": "largest change first",
    "noise": "noisiest first",
    "name": "by name",
}
"""Orders of the list by the value of their option; page.js knows how."""

_FLAME_LIBRARY = (
    *(
        f"d3-{part}"
        for part in (
            "dispatch",
            "timer",
            "color",
            "interpolate",
            "ease",
            "selection",
            "transition",
            "array",
            "format",
            "scale",
            "hierarchy",
        )
    ),
    "d3-flamegraph.umd",
)
"""What draws flame graphs, each after what it needs. D3's scales of times, which are not used, would need two more."""

_ADDED_STYLE = re.compile(r"\.textContent=`([^`]*)`")
"""The style sheet that the library adds to the page itself, which the policy has to allow."""

_HELP = (
    ("baseline", "The saved run or runs that this run is compared with; in turns, the old code."),
    ("noise", "The interquartile range (IQR) of the noisier side, in percent of its value."),
    ("detectable", "The smallest change that this comparison could have found."),
    ("threshold", "A change counts beyond the larger IQR of both sides, the tolerance, and two ticks of the clock."),
    ("REGRESSED", "Slower beyond the threshold, found again by a second measurement, and not explained by process "
     "starts that differ or by a slower machine."),
    ("SUSPECT", "Slower beyond the threshold, but one of those three did not hold."),
    ("INCOMPARABLE", "The two sides were not measured under the same conditions; the case shows the difference."),
    ("INCONCLUSIVE", "There are too few values to judge by."),
    ("anchor", "A fixed calculation, timed around every round: it distinguishes a slower machine from slower code."),
)  # fmt: skip


def render(
    report: Report,
    *,
    baselines: Mapping[str, Mapping[str, Baseline]] | None = None,
    histories: Mapping[str, Iterable[AnyRun]] | None = None,
) -> str:
    """Write a report as one HTML file.

    Args:
        report: What a session came to, or saved runs and their comparisons.
        baselines: What the cases were compared with: fingerprint of the device -> case id -> baseline.
        histories: Runs whose values over time are shown: fingerprint of the device -> runs of one label.
    """
    entries = [entry for group in grouped(report) for entry in group.entries]
    cases = _cases(report, entries, baselines or {}, histories or {})
    written = [
        write_case(case, at, unfolded=at < UNFOLDED and case.entry.kind == "regressed") for at, case in enumerate(cases)
    ]
    numbers = {name: each for one in written for name, each in one.numbers.items()}
    body = [
        el("a", "Skip to the cases", href="#cases", class_="skip"),
        _head(report),
        el(
            "main",
            _tools(report, len(written)),
            _columns(),
            el("ol", *(one.html for one in written), id="cases", class_="cases"),
            _help(),
        ),
        _foot(report, flames=_has_flames(numbers)),
    ]
    return _document(headline(report), body, numbers)


def _has_flames(numbers: Mapping[str, Any]) -> bool:
    """Return whether a case has a flame graph: only then the page holds the library that draws it."""
    return any("frames" in each for each in numbers.values())


def _cases(
    report: Report,
    entries: Sequence[Entry],
    baselines: Mapping[str, Mapping[str, Baseline]],
    histories: Mapping[str, Iterable[AnyRun]],
) -> list[Case]:
    names = run_names(report)
    pasts: Mapping[str, Mapping[str, Past]] = {device: pasts_of(runs) for device, runs in histories.items()}
    cases = []
    for entry in entries:
        run = report.runs[entry.run]
        baseline = baselines.get(run.device.fingerprint, {}).get(entry.id)
        cases.append(
            Case(
                entry=entry,
                run=run,
                on=names[entry.run] if len(names) > 1 else "",
                before=_sides(baseline),
                past=pasts.get(run.device.fingerprint, {}).get(entry.id),
            )
        )
    return cases


def _sides(baseline: Baseline | None) -> Sequence[Side]:
    if baseline is None or not baseline.same_device:
        return ()
    return [Side(record=run.record, commit=run.commit, taken_at=run.taken_at) for run in baseline.runs]


def _head(report: Report) -> Html:
    bad = bool(report.counts.get("regressed") or report.counts.get("failed") or report.counts.get("error"))
    compared = el("p", "Compared with ", el("b", report.compared_with), class_="with") if report.compared_with else None
    return el(
        "header",
        el("p", "pytest-devperf performance report", class_="kicker"),
        el("h1", headline(report), class_="bad" if bad else None),
        el("ul", *(el("li", f"{count} ", badge(kind)) for kind, count in report.counts.items()), class_="counts"),
        compared,
        *(el("p", el("b", line), class_="with") for line in shift_lines(report)),
        *map(_place, report.runs),
        _messages(report),
        *(el("pre", "\n".join(block), class_="scroll", tabindex="0") for block in _sweeps(report)),
    )


def _sweeps(report: Report) -> Iterator[Sequence[str]]:
    """Rank the configurations of each sweep."""
    for run in report.runs:
        if any(record.sweep is not None for record in run.cases):
            from pytest_devperf.report.terminal.sweep import sweep_blocks

            yield from sweep_blocks(run.cases, width=SWEEP_WIDTH)


def _place(run: Run) -> Html:
    commit = commit_line(run.commit)
    lines = [
        ("device", device_line(run.device)),
        ("context", context_line(run.run_context)),
        ("commit", commit),
        ("run", run_line(run).removeprefix("run ").partition(", commit")[0]),
        ("settings", settings_line(run.settings) if run.settings else ""),
    ]
    return el("dl", *((el("dt", name), el("dd", words)) for name, words in lines if words), class_="place")


def _messages(report: Report) -> Content:
    shared = dict.fromkeys(line for run in report.runs for line in shared_lines(run))
    lines = [*report.messages, *report.closing, *shared, *reliability_lines(report)]
    lines += [f"{saved_words(saved)}, in {saved.path}" for saved in report.saved]
    if not lines:
        return None
    return el(
        "details",
        el("summary", f"Notes ({len(lines)})"),
        el("ul", *(el("li", line) for line in lines)),
        class_="notes",
    )


def _tools(report: Report, cases: int) -> Html:
    kinds = [kind for kind in OUTCOMES if report.counts.get(kind) and kind != "pending"]
    choices = [_choice("", f"all {cases}", checked=True)]
    choices += [_choice(kind, f"{word(kind)} {report.counts[kind]}") for kind in kinds]
    options = [el("option", words, value=value) for value, words in _SORTS.items()]
    return el(
        "form",
        el("label", "Filter by text ", el("input", type="search", id="text", autocomplete="off", spellcheck="false")),
        el("fieldset", el("legend", "Verdict"), *choices),
        el("label", "Order ", el("select", *options, id="order")),
        el(
            "span",
            el("button", "Unfold all", type="button", id="unfold"),
            " ",
            el("button", "Fold all", type="button", id="fold"),
            class_="folding",
        ),
        el("output", counted(cases, "case"), id="shown", aria_live="polite"),
        id="tools",
        role="search",
        aria_label="Cases",
    )


def _columns() -> Html:
    """Head the columns of the list; each number names itself to who cannot see them."""
    names = ("case", "verdict", "metric", "baseline", "now", "change", "noise", "detectable", "threshold")
    return el("div", *(el("span", name) for name in names), class_="columns", aria_hidden="true")


def _choice(value: str, words: str, *, checked: bool = False) -> Html:
    return el("label", el("input", type="radio", name="kind", value=value, checked=checked), el("span", words))


def _help() -> Html:
    words = [(el("dt", name), el("dd", meaning)) for name, meaning in _HELP]
    return el("details", el("summary", "What the words mean"), el("dl", *words), class_="help")


def _foot(report: Report, *, flames: bool) -> Html:
    versions = sorted({run.devperf_version for run in report.runs})
    flame = " Flame graphs by d3-flame-graph (Apache License 2.0) and D3 (ISC and BSD licences)." if flames else ""
    return el("footer", f"Written by pytest-devperf {', '.join(versions)}. Charts by uPlot (MIT licence).{flame}")


def _document(title: str, body: Content, numbers: Mapping[str, Any]) -> str:
    styles = [_asset("vendor/uPlot.min.css"), _asset("page.css")]
    flame = [_asset(f"vendor/{name}.min.js") for name in _FLAME_LIBRARY] if _has_flames(numbers) else []
    own = [_asset("flame.js")] if flame else []
    scripts = [_asset("vendor/uPlot.iife.min.js"), *flame, *own, _asset("page.js")]
    added = [match[1] for text in flame if (match := _ADDED_STYLE.search(text))]
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash_of, scripts))}",
            f"style-src {' '.join(map(_hash_of, (*styles, *added)))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = [
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("link", rel="icon", href="data:,"),
        el("title", f"{title}: performance report"),
        *(el("style", Html(style)) for style in styles),
    ]
    data = el("script", Html(_embedded(numbers)), type="application/json", id="numbers")
    whole = el(
        "html", el("head", *head), el("body", body, data, *(el("script", Html(text)) for text in scripts)), lang="en"
    )
    return f"<!DOCTYPE html>\n{whole}\n"


def _embedded(numbers: Mapping[str, Any]) -> str:
    """Write JSON that no HTML parser sees an end or a comment in."""
    text = json.dumps(numbers, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@lru_cache(maxsize=32)
def _asset(name: str) -> str:
    return files("pytest_devperf.report.html").joinpath(name).read_text(encoding="utf-8")
