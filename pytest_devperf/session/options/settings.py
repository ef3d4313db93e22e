"""The validated, immutable settings of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.policy import Iqr, Policy
from pytest_devperf.errors import UsageError
from pytest_devperf.explain.cause import ExplainMode

SAVING_PROCESSES = 6
"""Process starts of a saved run: a lucky baseline is the largest remaining error."""


FINE = 0.005
"""Tolerance of `--devperf-fine`: in turns, both sides run in the same state of the machine, so process starts limit
what is detected, not days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a session, from its command line and ini file."""

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
    html: str | None = None
    markdown: str | None = None
    no_github: bool = False
    tolerance: tuple[tuple[str, float], ...] = ()
    """Tolerances of the command line, or of the ini file if the command line has none."""
    tolerance_cli: bool = False
    """Whether they come from the command line, and so override a marker's."""
    fail_on_incomparable: bool = False
    fail_on_missing: bool | None = None
    """None: only if nothing was deselected."""
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
    resume: bool = False
    against: str | None = None
    fine: bool = False
    explain: ExplainMode = "auto"
    aa: int | None = None
    budget: float | None = None
    """In seconds."""
    hot_start_c: float = 10.0
    busy_cpu_percent: float = 30.0

    @property
    def counts_only(self) -> bool:
        """Whether instructions are counted and no time is measured."""
        return self.plan_named.get("count") == "only"

    @property
    def compared_with(self) -> str | None:
        """The reference of the comparison: a label, a file or other code; None: nothing."""
        return self.compare or self.against

    @property
    def plan_named(self) -> Mapping[str, Any]:
        """Plan fields named anywhere but in markers."""
        return {**self.plan_ini, **self.plan_cli}


def plan_of(settings: Settings, marker: Mapping[str, Any], seed: int) -> Plan:
    """Merge command line, marker, ini file and defaults into a plan, the strongest first."""
    fields: dict[str, Any] = {"seed": seed, **settings.plan_ini, **marker, **settings.plan_cli}
    if "processes" not in fields:
        fields["processes"] = SAVING_PROCESSES if settings.save else Plan().processes
    plan = Plan(**fields)
    # A start without rounds would be useless; more starts than rounds are only refused if the user set both.
    return replace(plan, processes=min(plan.processes, plan.rounds), suite=fields.get("suite", "quick"))


def policy_of(settings: Settings, case: Case, *, together: int = 1) -> Policy:
    """Return the rules of a case's comparison: from the command line, then the marker, then the ini file.

    Args:
        settings: The session's settings.
        case: The case.
        together: Metrics that are judged together with it.
    """
    named = dict(settings.tolerance)
    tolerance = {**case.tolerance, **named} if settings.tolerance_cli else {**named, **case.tolerance}
    if settings.fine and not (settings.tolerance_cli and "*" in named):
        tolerance["*"] = FINE
    return Policy(
        tolerance=tolerance,
        rule="iqr" if settings.rule == "iqr" else "proven",
        iqr=settings.iqr,
        confirm=not settings.no_confirm,
        anchor=not settings.no_anchor,
        accept=settings.accept,
        strict_context=settings.strict_context,
        blind=settings.blind,
        hot_start_c=settings.hot_start_c,
        metrics=together,
    )


def check_settings(settings: Settings) -> None:
    """Refuse contradictory combinations."""
    from pytest_devperf.record.caution import CAUTIONS

    if settings.append and not settings.save:
        raise UsageError(
            "--devperf-append needs --devperf-save=LABEL: it adds a run to the newest generation of that label"
        )
    _refuse_two_aims(settings)
    _refuse_fine(settings)
    _refuse_unspreadable_budget(settings)
    _refuse_counting(settings)
    unknown = sorted(settings.accept - {slug for slug, caution in CAUTIONS.items() if caution.refuses})
    if unknown:
        refusing = ", ".join(sorted(slug for slug, caution in CAUTIONS.items() if caution.refuses))
        raise UsageError(f"--devperf-accept: no caution named {unknown[0]!r} refuses comparison: use one of {refusing}")
    merged = {**settings.plan_ini, **settings.plan_cli}
    rounds = merged.get("rounds", Plan().rounds)
    if merged.get("processes", 0) > rounds:
        raise UsageError(
            f"--devperf-processes={merged['processes']} is more than --devperf-rounds={rounds}: "
            "every process start needs at least one round"
        )


def _refuse_fine(settings: Settings) -> None:
    """Refuse a fine tolerance for sessions that do not measure in turns: their false alarms are those of 2 %."""
    if settings.fine and (settings.compare or settings.save or settings.aa):
        raise UsageError(
            "--devperf-fine is for measuring in turns: use it with --devperf-against=REV or devperf.paired, "
            "or name a tolerance (--devperf-tolerance)"
        )


def _refuse_counting(settings: Settings) -> None:
    """Refuse to count instructions where that would be no help, or cannot be."""
    if settings.plan_named.get("count", "no") == "no":
        return
    aims = {"--devperf-aa": settings.aa, "--devperf-against": settings.against}
    for flag, value in aims.items():
        if value is not None and "count" in settings.plan_cli:
            raise UsageError(
                f"{flag}={value} repeats measurements because time varies, and counts hardly do: leave --devperf-count "
                "out, or save a run and compare with it"
            )
    if settings.counts_only and settings.target not in {"auto", "host"}:
        raise UsageError(
            f"--devperf-count=only counts on this machine, not on --devperf-target={settings.target}: "
            "leave one of them out"
        )


def drop_other_aims(values: dict[str, Any], named: set[str]) -> None:
    """Let the mode of the command line override that of the ini file: saved runs, turns, repetitions."""
    alone, runs = {"aa", "against"}, {"compare", "save", "append"}
    if named & alone:
        gone = (alone | runs) - named
    elif named & runs:
        gone = alone
    else:
        return
    for name in gone & values.keys():
        del values[name]


def _refuse_unspreadable_budget(settings: Settings) -> None:
    """Refuse a budget that could not be spread evenly over the cases."""
    if settings.budget is None:
        return
    if settings.aa is not None:
        raise UsageError(
            f"--devperf-budget={settings.budget:g} has no use with --devperf-aa={settings.aa}: "
            "every repetition is measured whole, so name fewer of them"
        )
    if {**settings.plan_ini, **settings.plan_cli}.get("order") == "sequential":
        raise UsageError(
            f"--devperf-budget={settings.budget:g} is spread over the cases one process start after the other: "
            "leave --devperf-order=sequential out"
        )


def _refuse_two_aims(settings: Settings) -> None:
    """Refuse a session that repeats or measures in turns, and also saves a run or compares with one."""
    aims = {
        "--devperf-aa": settings.aa,
        "--devperf-against": settings.against,
        "--devperf-compare": settings.compare,
        "--devperf-save": settings.save,
    }
    given = [flag for flag, value in aims.items() if value is not None]
    if given[:1] in (["--devperf-aa"], ["--devperf-against"]) and given[1:]:
        does = {"--devperf-aa": "measures unchanged code repeatedly", "--devperf-against": "measures in turns"}
        raise UsageError(
            f"{given[0]}={aims[given[0]]} {does[given[0]]}, and neither saves a run nor compares with one: "
            f"omit {given[1]}"
        )
