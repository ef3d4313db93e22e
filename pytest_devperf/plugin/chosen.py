"""What the command line and the ini file ask for: read once, checked, and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.policy import Iqr
from pytest_devperf.plugin.options import INI_ONLY, PLAN_ROWS, ROWS, read_cli, read_ini


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
    iqr: Iqr = "undisturbed"
    no_confirm: bool = False
    no_anchor: bool = False
    save_regressed: bool = False
    accept: frozenset[str] = frozenset()
    strict_context: bool = False
    blind: float = 0.25
    """As a fraction."""
    identity: str | None = None
    provider: tuple[str, ...] | None = None
    runner: str | None = None
    runtime_library: str | None = None
    only: str | None = None
    against: str | None = None
    aa: int | None = None
    hot_start_c: float = 10.0
    busy_cpu_percent: float = 30.0


def read_options(config: pytest.Config) -> Options:
    """Read every option once.

    Raises:
        pytest.UsageError: A value cannot be read; the option or ini key and the remedy are named.
    """
    values: dict[str, Any] = {}
    plan_cli: dict[str, Any] = {}
    plan_ini: dict[str, Any] = {}
    plan_names = {row.name for row in PLAN_ROWS}
    named: set[str] = set()
    for row in (*ROWS[1:], *INI_ONLY):
        from_cli = read_cli(config, row)
        value = read_ini(config, row) if from_cli is None else from_cli
        if value is None:
            continue
        if from_cli is not None:
            named.add(row.name)
        if row.name in plan_names:
            (plan_ini if from_cli is None else plan_cli)[row.name] = value
        else:
            values[row.name] = value
            if row.name == "tolerance":
                values["tolerance_cli"] = from_cli is not None
    _drop_other_aims(values, named)
    values["accept"] = frozenset(name for names in values.get("accept", ()) for name in names)
    options = Options(plan_cli=plan_cli, plan_ini=plan_ini, **values)
    _check(options)
    return options


def read_plain_options(config: pytest.Config) -> Options:
    """Read what a session needs in which cases run once, unmeasured: the execution providers of its models.

    A value that cannot be read counts as not given: such a session does not ask for it.
    """
    (row,) = (row for row in ROWS if row.name == "provider")
    try:
        return Options(provider=read_cli(config, row) or read_ini(config, row))
    except pytest.UsageError:
        return Options()


def _check(options: Options) -> None:
    """Refuse combinations that contradict themselves."""
    from pytest_devperf.record.caution import CAUTIONS

    if options.append and not options.save:
        raise pytest.UsageError(
            "--devperf-append needs --devperf-save=LABEL: it adds a run to the newest generation of that label"
        )
    _refuse_two_aims(options)
    unknown = sorted(options.accept - {slug for slug, caution in CAUTIONS.items() if caution.refuses})
    if unknown:
        refusing = ", ".join(sorted(slug for slug, caution in CAUTIONS.items() if caution.refuses))
        raise pytest.UsageError(
            f"--devperf-accept: no caution named {unknown[0]!r} refuses comparison: use one of {refusing}"
        )
    merged = {**options.plan_ini, **options.plan_cli}
    rounds = merged.get("rounds", Plan().rounds)
    if merged.get("processes", 0) > rounds:
        raise pytest.UsageError(
            f"--devperf-processes={merged['processes']} is more than --devperf-rounds={rounds}: "
            "every process start needs at least one round"
        )


def _drop_other_aims(values: dict[str, Any], named: set[str]) -> None:
    """Let what the command line is about beat what the ini file is about: a saved run, turns, repetitions."""
    alone, runs = {"aa", "against"}, {"compare", "save", "append"}
    if named & alone:
        gone = (alone | runs) - named
    elif named & runs:
        gone = alone
    else:
        return
    for name in gone & values.keys():
        del values[name]


def _refuse_two_aims(options: Options) -> None:
    """Refuse to repeat, or to measure in turns, and to compare with a saved run or to save in one session."""
    aims = {
        "--devperf-aa": options.aa,
        "--devperf-against": options.against,
        "--devperf-compare": options.compare,
        "--devperf-save": options.save,
    }
    given = [flag for flag, value in aims.items() if value is not None]
    if given[:1] in (["--devperf-aa"], ["--devperf-against"]) and given[1:]:
        does = {"--devperf-aa": "measures unchanged code repeatedly", "--devperf-against": "measures in turns"}
        raise pytest.UsageError(
            f"{given[0]}={aims[given[0]]} {does[given[0]]}, and neither saves a run nor compares with one: "
            f"leave {given[1]} out"
        )
