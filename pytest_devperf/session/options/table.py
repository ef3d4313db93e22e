"""The table of all options, from which they are registered and read.

A row has the same name everywhere: `--devperf-min-rounds`, ini key `devperf_min_rounds`, marker keyword
`min_rounds`, `Plan.min_rounds`. The command line overrides the marker, the marker overrides the ini file, the ini
file overrides the default.
"""

from __future__ import annotations

from pytest_devperf.session.options.parse import (
    parse_budget,
    parse_choice,
    parse_cooldown,
    parse_count,
    parse_counting,
    parse_fraction,
    parse_names,
    parse_not_negative,
    parse_percent,
    parse_positive,
    parse_repetitions,
    parse_seconds,
    parse_seed,
    parse_tolerance,
)
from pytest_devperf.session.options.row import Row

PLAN_ROWS: tuple[Row, ...] = (
    Row(
        "suite",
        "cases to measure: quick, or full for all (default: quick)",
        parse_choice("quick", "full"),
        metavar="quick|full",
        everyday=True,
    ),
    Row(
        "processes",
        "process starts that share the rounds (default: 3; 6 when saving)",
        parse_count,
        metavar="N",
    ),
    Row("rounds", "rounds per case, over all process starts (default: 12)", parse_count, metavar="N"),
    Row("min_rounds", "fewest rounds before a stable case ends early (default: 5)", parse_count, metavar="N"),
    Row("iterations", "iterations per round (default: 30)", parse_count, metavar="N"),
    Row("warmup", "unrecorded iterations after each process start (default: 3)", parse_not_negative, metavar="N"),
    Row("max_time", "time budget of one case, without its confirmation (default: 60)", parse_budget, metavar="SECONDS"),
    Row(
        "cooldown",
        "wait before each pass: auto, off, seconds, or temp=C (default: auto)",
        parse_cooldown,
        metavar="WAIT",
    ),
    Row("cooldown_floor", "shortest wait for a temperature plateau (default: 30)", parse_seconds, metavar="SECONDS"),
    Row("cooldown_max", "longest wait for a temperature plateau (default: 900)", parse_seconds, metavar="SECONDS"),
    Row(
        "round_cooldown",
        "wait between rounds (default: 0 on the host, 0.5 on a phone)",
        parse_seconds,
        metavar="SECONDS",
    ),
    Row(
        "stability_target",
        "coefficient of variation of round medians up to which they are stable (default: 0.03)",
        parse_fraction,
        metavar="X",
    ),
    Row("patience", "consecutive stable rounds after which a case ends early (default: 2)", parse_count, metavar="N"),
    Row(
        "pin_clocks",
        "fix a phone's clocks while measuring: off, auto or on (default: auto)",
        parse_choice("off", "auto", "on"),
        metavar="off|auto|on",
    ),
    Row(
        "count",
        "also count instructions under valgrind, which load does not disturb; only: and measure no time",
        parse_counting,
        kind="optional",
        metavar="only",
    ),
    Row("affinity", "CPUs for the workload: a list such as 0-3, big or little", metavar="CPUS"),
    Row(
        "order",
        "alternate the process starts of cases, or finish case after case (default: interleaved)",
        parse_choice("interleaved", "sequential"),
        metavar="interleaved|sequential",
    ),
    Row("seed", "seed for the order of cases (default: random, and printed)", parse_seed, metavar="N"),
)
"""Options that are fields of the plan; a marker may set any of them except the session's own."""

SESSION_FIELDS = frozenset({"order", "seed", "pin_clocks", "affinity", "cooldown_floor", "cooldown_max"})
"""Plan fields that apply to a whole session: a marker cannot set them."""

ROWS: tuple[Row, ...] = (
    Row("", "measure the cases; without it each runs once, as an ordinary test", kind="flag", everyday=True),
    Row(
        "save",
        "save this run as LABEL of this device, as a new generation that replaces the older ones as baseline",
        metavar="LABEL",
        everyday=True,
    ),
    Row("append", "with --devperf-save: add the run to LABEL's newest generation instead", kind="flag"),
    Row(
        "compare",
        "compare with a saved LABEL of this device, or with a file; a regression fails its test",
        metavar="LABEL|FILE",
        everyday=True,
    ),
    Row(
        "target",
        "where cases run: auto, host, android, android:SERIAL or sim (default: auto)",
        metavar="SPEC",
        everyday=True,
    ),
    Row("store", "folder of saved runs (default: .devperf in rootdir)", metavar="PATH|URL", everyday=True),
    Row(
        "json",
        "write the run document (-: to standard output, and all else to standard error)",
        metavar="FILE",
        everyday=True,
    ),
    Row("html", "write a report with charts as one HTML file (-: to standard output)", metavar="FILE"),
    Row(
        "markdown",
        "write a report for a comment on a pull request (-: to standard output)",
        metavar="FILE",
    ),
    Row("no_github", "in GitHub Actions: write no step summary and no annotations", kind="flag"),
    Row(
        "tolerance",
        "smallest relative change that counts, for all times or one metric; repeatable",
        parse_tolerance,
        kind="many",
        metavar="[METRIC=]X%",
        everyday=True,
    ),
    Row("fail_on_incomparable", "fail the test of an incomparable case", kind="flag", everyday=True),
    Row(
        "fail_on_missing",
        "fail the run if a case of the baseline was not measured (default: unless cases were deselected)",
        kind="tristate",
        everyday=True,
    ),
    Row(
        "rule",
        "rule of the verdict: proven, or the plain IQR rule (default: proven)",
        parse_choice("proven", "iqr"),
        metavar="proven|iqr",
    ),
    Row(
        "iqr",
        "which IQR of a run counts: of the undisturbed part of its rounds, of whole rounds, or pooled over all rounds "
        "(default: undisturbed)",
        parse_choice("undisturbed", "within", "pooled"),
        metavar="undisturbed|within|pooled",
    ),
    Row("no_confirm", "fail a suspect without measuring it again", kind="flag"),
    Row("no_anchor", "neither time nor use the anchor kernel", kind="flag"),
    Row("save_regressed", "save regressed cases too, instead of keeping their old baseline", kind="flag"),
    Row(
        "accept",
        "cautions to accept that would otherwise refuse comparison",
        parse_names,
        kind="many",
        metavar="CAUTION,...",
    ),
    Row(
        "blind",
        "change that must have been visible to call a case within noise (default: 25%)",
        parse_percent,
        metavar="X%",
    ),
    Row(
        "budget",
        "time of the whole session, spent evenly on all cases and then on suspects",
        parse_budget,
        metavar="SECONDS",
    ),
    Row("strict_context", "let every refusing caution refuse on the host too", kind="flag"),
    Row(
        "identity",
        "what makes a device: its model, or the single unit (default: unit on a phone, model on a host)",
        parse_choice("model", "unit"),
        metavar="model|unit",
    ),
    Row("provider", "execution providers of model cases", parse_names, metavar="NAME,..."),
    Row("runner", "on-device runner (default: the one from devperf setup-android)", metavar="FILE"),
    Row(
        "runtime_library",
        "libonnxruntime.so for the phone (default: the one from devperf setup-android)",
        metavar="FILE",
    ),
    Row(
        "against",
        "compare in turns with the code of a git revision, or of another environment, named by its interpreter; "
        "OLD..NEW compares two revisions",
        metavar="REV|PYTHON",
    ),
    Row("fine", "in turns: find smaller changes, with a tolerance of half a percent", kind="flag"),
    Row(
        "explain",
        "show where the time of a change went: auto for cases that changed, off, or all for suspects too "
        "(default: auto)",
        parse_choice("auto", "off", "all"),
        metavar="auto|off|all",
    ),
    Row(
        "aa",
        "measure unchanged code N times and report noise, false alarms and a tolerance that suits",
        parse_repetitions,
        metavar="N",
    ),
    Row("only", "one case of an app-hosted suite", metavar="ID"),
    Row("resume", "go on with the newest session of this folder that did not finish", kind="flag"),
    *PLAN_ROWS,
)

INI_ONLY: tuple[Row, ...] = (
    Row(
        "hot_start_c",
        "difference of start temperatures in degrees Celsius that makes runs incomparable (default: 10)",
        parse_positive,
    ),
    Row(
        "busy_cpu_percent", "CPU use before a run in percent above which the host is busy (default: 30)", parse_positive
    ),
)

COMPAT = Row("compat", "provide pytest-benchmark's fixture, as -p pytest_devperf.compat does", kind="flag")
"""Ini key that is read before all others: which plugins there are depends on it."""

AIMS: tuple[Row, ...] = tuple(row for row in ROWS if row.name in {"save", "compare", "against", "aa"})
"""Options that set the purpose of a measuring session. On the command line each implies `--devperf`; an ini key sets
how a session measures, never whether."""

OUTPUTS: tuple[Row, ...] = tuple(row for row in ROWS if row.name in {"json", "html", "markdown"})
"""Options that name a file that a session writes at its end, or `-` for standard output."""
