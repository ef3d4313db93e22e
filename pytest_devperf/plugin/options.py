"""The options: registered from one table, read once into frozen values.

A row's name is spelt alike everywhere: `--devperf-min-rounds`, ini key `devperf_min_rounds`, marker
keyword `min_rounds`, `Plan.min_rounds`. The command line beats the marker, the marker beats the ini
file, the ini file beats the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import pytest

from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.policy import parse_tolerance

EVERYDAY = "devperf"
ADVANCED = "devperf (advanced)"

Kind = Literal["flag", "tristate", "text", "many"]


@dataclass(frozen=True)
class Row:
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


def parse_count(text: str) -> int:
    """Read a whole number of at least one."""
    value = int(text)
    if value < 1:
        raise ValueError("must be at least 1")
    return value


def parse_not_negative(text: str) -> int:
    """Read a whole number of at least zero."""
    value = int(text)
    if value < 0:
        raise ValueError("must not be negative")
    return value


def parse_seconds(text: str) -> float:
    """Read a time in seconds, zero or more and finite."""
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("must be a number of seconds, zero or more")
    return value


def parse_fraction(text: str) -> float:
    """Read a positive number below one."""
    value = float(text)
    if not 0 < value < 1:
        raise ValueError("must lie between 0 and 1")
    return value


def parse_positive(text: str) -> float:
    """Read a positive finite number."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError("must be a positive number")
    return value


def parse_choice(*choices: str) -> Callable[[str], str]:
    """Make a reader that takes one of a few words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError("choose one of " + ", ".join(choices))
        return text

    return parse


def parse_cooldown(text: str) -> str:
    """Read `auto`, `off`, seconds or `temp=C`, and keep the text."""
    if text in {"auto", "off"}:
        return text
    number = text.removeprefix("temp=")
    try:
        parse_seconds(number)
    except ValueError:
        raise ValueError("give auto, off, a number of seconds, or temp=C") from None
    return text


def parse_bool(text: str) -> bool:
    """Read an ini file's yes or no."""
    word = text.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError("write true or false")


def parse_names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line and the ini file ask for, read and checked."""

    plan_cli: Mapping[str, Any] = field(default_factory=dict)
    """Plan fields named on the command line."""
    plan_ini: Mapping[str, Any] = field(default_factory=dict)
    """Plan fields named in the ini file."""
    save: str | None = None
    append: bool = False
    compare: str | None = None
    target: str = "auto"
    store: str | None = None
    json: str | None = None
    tolerance: tuple[tuple[str, float], ...] = ()
    """Tolerances of the command line, or of the ini file where the command line names none."""
    tolerance_cli: bool = False
    """Whether they come from the command line, and so beat a marker's."""
    fail_on_incomparable: bool = False
    fail_on_missing: bool | None = None
    """None: where nothing was deselected."""
    rule: str = "proven"
    iqr: str = "within"
    no_confirm: bool = False
    no_anchor: bool = False
    save_regressed: bool = False
    accept: frozenset[str] = frozenset()
    strict_context: bool = False
    identity: str | None = None
    provider: tuple[str, ...] | None = None
    runner: str | None = None
    runtime_library: str | None = None
    only: str | None = None
    hot_start_c: float = 10.0
    busy_cpu_percent: float = 30.0


def wants_measuring(config: pytest.Config) -> bool:
    """Tell whether cases are measured: `--devperf`, or an option that implies it.

    Cheap: it is asked in every session in which the plugin is installed.
    """
    option = config.option
    if option.devperf or option.devperf_save or option.devperf_compare:
        return True
    text = config.getini("devperf")
    return bool(text) and _parse_ini(ROWS[0], text, parse_bool) is True


def read_options(config: pytest.Config) -> Options:
    """Read every option once.

    Raises:
        pytest.UsageError: A value cannot be read; the option or ini key and the remedy are named.
    """
    values: dict[str, Any] = {}
    plan_cli: dict[str, Any] = {}
    plan_ini: dict[str, Any] = {}
    plan_names = {row.name for row in PLAN_ROWS}
    for row in (*ROWS[1:], *INI_ONLY):
        from_cli = _read_cli(config, row)
        value = _read_ini(config, row) if from_cli is None else from_cli
        if value is None:
            continue
        if row.name in plan_names:
            (plan_ini if from_cli is None else plan_cli)[row.name] = value
        else:
            values[row.name] = value
            if row.name == "tolerance":
                values["tolerance_cli"] = from_cli is not None
    values["accept"] = frozenset(name for names in values.get("accept", ()) for name in names)
    options = Options(plan_cli=plan_cli, plan_ini=plan_ini, **values)
    _check(options)
    return options


def _check(options: Options) -> None:
    """Refuse combinations that contradict themselves."""
    from pytest_devperf.record.caution import CAUTIONS

    if options.append and not options.save:
        raise pytest.UsageError("--devperf-append needs --devperf-save LABEL: it joins that label's newest generation")
    for label in (options.save, options.compare):
        if label is not None and not label.strip():
            raise pytest.UsageError("a label must not be empty: name it, as in --devperf-save baseline")
    unknown = sorted(options.accept - {slug for slug, caution in CAUTIONS.items() if caution.refuses})
    if unknown:
        refusing = ", ".join(sorted(slug for slug, caution in CAUTIONS.items() if caution.refuses))
        raise pytest.UsageError(f"--devperf-accept: no refusing caution is called {unknown[0]!r}; there are {refusing}")
    merged = {**options.plan_ini, **options.plan_cli}
    if "processes" in merged and "rounds" in merged and merged["processes"] > merged["rounds"]:
        raise pytest.UsageError(
            f"--devperf-processes={merged['processes']} is more than --devperf-rounds={merged['rounds']}: "
            "every process start takes at least one round"
        )


def _read_cli(config: pytest.Config, row: Row) -> Any:  # noqa: ANN401 - rows are of many types
    raw = getattr(config.option, row.key, None)
    if raw is None:
        return None
    if row.kind in {"flag", "tristate"}:
        return raw
    if row.kind == "many":
        return tuple(_parse_cli(row, text) for text in raw)
    return _parse_cli(row, raw)


def _parse_cli(row: Row, text: str) -> Any:  # noqa: ANN401 - rows are of many types
    try:
        return row.parse(text)
    except ValueError as error:
        raise pytest.UsageError(f"{row.flag}={text}: {_reason(error)}") from None


def _read_ini(config: pytest.Config, row: Row) -> Any:  # noqa: ANN401 - rows are of many types
    text = config.getini(row.key)
    if text is None or not str(text).strip():
        return None
    if row.kind in {"flag", "tristate"}:
        return _parse_ini(row, text, parse_bool)
    if row.kind == "many":
        return tuple(_parse_ini(row, word, row.parse) for word in str(text).split())
    return _parse_ini(row, str(text).strip(), row.parse)


def _parse_ini(row: Row, text: object, parse: Callable[[str], Any]) -> Any:  # noqa: ANN401 - rows are of many types
    try:
        return parse(str(text))
    except ValueError as error:
        raise pytest.UsageError(f"ini key {row.key} = {text}: {_reason(error)}") from None


def _reason(error: ValueError) -> str:
    """Say in words what Python's own converters say in code."""
    text = str(error)
    if text.startswith(("invalid literal", "could not convert")):
        return "not a number of the kind this option takes"
    return text


PLAN_FIELDS = frozenset(field_.name for field_ in fields(Plan))
