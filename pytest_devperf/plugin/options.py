"""The options: one table, from which they are registered.

A row's name is spelt alike everywhere: `--devperf-min-rounds`, ini key `devperf_min_rounds`, marker
keyword `min_rounds`, `Plan.min_rounds`. The command line beats the marker, the marker beats the ini
file, the ini file beats the default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import pytest

from pytest_devperf.plugin.parse import (
    parse_bool,
    parse_choice,
    parse_cooldown,
    parse_count,
    parse_fraction,
    parse_names,
    parse_not_negative,
    parse_positive,
    parse_repetitions,
    parse_seconds,
    parse_tolerance,
)

EVERYDAY = "devperf"
ADVANCED = "devperf (advanced)"

Kind = Literal["flag", "tristate", "text", "many"]


class Row(NamedTuple):
    """One option: its name, how its text is read, and what it means."""

    name: str
    """Spelling after the `devperf` prefix; empty for `--devperf` itself."""
    help: str
    parse: Callable[[str], Any] = str
    kind: Kind = "text"
    metavar: str | None = None
    everyday: bool = False

    @property
    def flag(self) -> str:
        """How it is written on the command line."""
        return f"--{self.key.replace('_', '-')}"

    @property
    def key(self) -> str:
        """Ini key, and attribute of pytest's parsed options."""
        return f"devperf_{self.name}" if self.name else "devperf"


PLAN_ROWS: tuple[Row, ...] = (
    Row(
        "suite",
        "cases to measure: quick, or quick and full",
        parse_choice("quick", "full"),
        metavar="quick|full",
        everyday=True,
    ),
    Row(
        "processes",
        "process starts over which the rounds are spread (default: 3; 6 when saving)",
        parse_count,
        metavar="N",
    ),
    Row("rounds", "rounds in all (default: 12)", parse_count, metavar="N"),
    Row("min_rounds", "rounds before convergence may stop (default: 5)", parse_count, metavar="N"),
    Row("iterations", "iterations per round (default: 30)", parse_count, metavar="N"),
    Row("warmup", "unrecorded iterations after each process start (default: 3)", parse_not_negative, metavar="N"),
    Row("max_time", "budget of one case, confirmations apart (default: 60)", parse_positive, metavar="SECONDS"),
    Row(
        "cooldown",
        "wait before each pass: auto, off, seconds, or temp=C (default: auto)",
        parse_cooldown,
        metavar="WAIT",
    ),
    Row("cooldown_floor", "least wait for a temperature plateau (default: 30)", parse_seconds, metavar="SECONDS"),
    Row("cooldown_max", "longest wait for a temperature plateau (default: 900)", parse_seconds, metavar="SECONDS"),
    Row(
        "round_cooldown",
        "wait between rounds (default: 0 on the host, 0.5 on a phone)",
        parse_seconds,
        metavar="SECONDS",
    ),
    Row("stability_target", "round CoV for convergence and grade (default: 0.03)", parse_fraction, metavar="X"),
    Row("patience", "consecutive rounds on target before convergence stops (default: 2)", parse_count, metavar="N"),
    Row(
        "pin_clocks",
        "hold a phone's clocks: off, auto or on (default: auto)",
        parse_choice("off", "auto", "on"),
        metavar="off|auto|on",
    ),
    Row("affinity", "CPUs the workload runs on: a list such as 0-3, big or little", metavar="CPUS"),
    Row(
        "order",
        "whether process starts of different cases alternate (default: interleaved)",
        parse_choice("interleaved", "sequential"),
        metavar="interleaved|sequential",
    ),
    Row("seed", "seed of the order of cases (default: drawn and printed)", parse_not_negative, metavar="N"),
)
"""Options that are fields of the plan; a marker may name any of them but the session's own."""

SESSION_FIELDS = frozenset({"order", "seed", "pin_clocks", "affinity", "cooldown_floor", "cooldown_max"})
"""Plan fields that hold for a whole session: a marker cannot name them."""

ROWS: tuple[Row, ...] = (
    Row("", "measure the cases", kind="flag", everyday=True),
    Row(
        "save",
        "record this run as LABEL of this device; starts a new generation of LABEL",
        metavar="LABEL",
        everyday=True,
    ),
    Row("append", "with save: join LABEL's newest generation instead", kind="flag"),
    Row("compare", "compare with LABEL on this device, or with a file", metavar="LABEL|FILE", everyday=True),
    Row(
        "target",
        "where cases run: auto, host, android, android:SERIAL, sim (default: auto)",
        metavar="SPEC",
        everyday=True,
    ),
    Row("store", "folder of saved runs (default: .devperf in rootdir)", metavar="PATH|URL", everyday=True),
    Row("json", "write the run document", metavar="FILE", everyday=True),
    Row(
        "tolerance",
        "relative floor of the threshold, for all metrics or one; repeatable",
        parse_tolerance,
        kind="many",
        metavar="[METRIC=]X%",
        everyday=True,
    ),
    Row("fail_on_incomparable", "an incomparable case fails its test", kind="flag", everyday=True),
    Row(
        "fail_on_missing",
        "a case of the baseline that was not measured fails the run (default: when nothing was deselected)",
        kind="tristate",
        everyday=True,
    ),
    Row(
        "rule", "proven, or the literal IQR rule (default: proven)", parse_choice("proven", "iqr"), metavar="proven|iqr"
    ),
    Row(
        "iqr", "which IQR is the run's own (default: within)", parse_choice("within", "pooled"), metavar="within|pooled"
    ),
    Row("no_confirm", "fail without measuring a suspect again", kind="flag"),
    Row("no_anchor", "neither time nor use the anchor kernel", kind="flag"),
    Row("save_regressed", "save regressed cases too", kind="flag"),
    Row(
        "accept", "accept cautions that would refuse comparison, by name", parse_names, kind="many", metavar="CAUTION,…"
    ),
    Row("strict_context", "on the host too, every refusing caution refuses", kind="flag"),
    Row(
        "identity",
        "whether another unit of the same model is another device (default: unit on a phone, model on a host)",
        parse_choice("model", "unit"),
        metavar="model|unit",
    ),
    Row("provider", "execution providers of model cases", parse_names, metavar="NAME,…"),
    Row("runner", "on-device runner (default: what devperf setup-android stored)", metavar="FILE"),
    Row(
        "runtime_library",
        "libonnxruntime.so for the phone (default: what devperf setup-android stored)",
        metavar="FILE",
    ),
    Row(
        "against",
        "compare with the code in another environment, in turns: its interpreter",
        metavar="PYTHON",
    ),
    Row(
        "aa",
        "measure N times instead of comparing: noise, false alarms and the tolerance it asks for",
        parse_repetitions,
        metavar="N",
    ),
    Row("only", "one case of an app-hosted suite", metavar="ID"),
    *PLAN_ROWS,
)

INI_ONLY: tuple[Row, ...] = (
    Row("hot_start_c", "start temperatures further apart than this are another state (default: 10)", parse_positive),
    Row("busy_cpu_percent", "CPU use before a run above which the host counts as busy (default: 30)", parse_positive),
)


def add_options(parser: pytest.Parser) -> None:
    """Register every row on the command line and in the ini file."""
    groups = {True: parser.getgroup(EVERYDAY, "devperf"), False: parser.getgroup(ADVANCED, "devperf (advanced)")}
    for row in ROWS:
        group = groups[row.everyday]
        add = group.addoption
        if row.kind == "flag":
            add(row.flag, dest=row.key, action="store_true", default=None, help=row.help)
        elif row.kind == "tristate":
            add(row.flag, dest=row.key, action="store_true", default=None, help=row.help)
            off = row.flag.replace("--devperf-", "--devperf-no-", 1)
            add(off, dest=row.key, action="store_false", default=None, help="the contrary")
        elif row.kind == "many":
            add(row.flag, dest=row.key, action="append", default=None, metavar=row.metavar, help=_escaped(row))
        else:
            add(row.flag, dest=row.key, default=None, metavar=row.metavar, help=_escaped(row))
        parser.addini(row.key, row.help, default=None)
    for row in INI_ONLY:
        parser.addini(row.key, row.help, default=None)


def _escaped(row: Row) -> str:
    """Help text for argparse, in which a percent sign is doubled."""
    return row.help.replace("%", "%%")


def wants_measuring(config: pytest.Config) -> bool:
    """Tell whether cases are measured: `--devperf`, or an option that implies it.

    Cheap: it is asked in every session in which the plugin is installed.
    """
    option = config.option
    if option.devperf or option.devperf_save or option.devperf_compare or option.devperf_aa or option.devperf_against:
        return True
    text = config.getini("devperf")
    return bool(text) and read_text(ROWS[0], text, parse_bool) is True


def read_text(row: Row, text: object, parse: Callable[[str], Any]) -> Any:  # noqa: ANN401 - rows are of many types
    """Read the text of an ini key.

    Raises:
        pytest.UsageError: It cannot be read; the key is named.
    """
    try:
        return parse(str(text))
    except ValueError as error:
        raise pytest.UsageError(f"ini key {row.key} = {text}: {reason_of(error)}") from None


def reason_of(error: ValueError) -> str:
    """Say in words what Python's own converters say in code."""
    text = str(error)
    if text.startswith(("invalid literal", "could not convert")):
        return "not a number of the kind it takes"
    return text
