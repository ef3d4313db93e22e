"""The messages between a session and its fresh interpreters.

Read in every fresh interpreter before its first test, so nothing is imported that the reading does not need.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.errors import UsageError
from pytest_devperf.measure.round import Earlier, StartPlan
from pytest_devperf.session.launch.relocation import Relocation
from pytest_devperf.session.starts.start import Role

HANDOVER_VERSION = 5
"""Version of what travels between a session's own process and a fresh interpreter."""

Side = Literal["old", "new"]
"""Which code an interpreter runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCase:
    """One case that a fresh interpreter shall run."""

    index: int
    """Its index in the session; results come back under it."""
    path: str
    nodeid: str
    nth: int
    """Which of several equal node ids."""
    case: Case
    """As far as it matters for measuring: id, plan, and whether its memory is taken."""
    start_plans: Mapping[str, StartPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Where an interpreter that measures in turns with another one asks for its turn."""

    host: str
    port: int
    secret: str
    """Tells the asking interpreter from any other program of this machine."""
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Settings of a session that apply to every case in a fresh interpreter."""

    identity: str | None = None
    providers: tuple[str, ...] | None = None
    affinity: str | None = None
    use_anchor: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """Everything that a fresh interpreter needs."""

    version: int
    parent_pid: int
    args: list[str]
    """pytest's command line, the parent's to the letter."""
    sys_path: list[str] | None
    """Where it imports from; None: its own environment's places."""
    output: str
    basetemp: str
    process: int
    role: Role
    shuffle_seed: int
    surroundings: Surroundings
    wanted: list[WantedCase]
    plugins: list[str] = field(default_factory=list)
    """Modules that `pytest.main` was given as plugins."""
    randomly_seed: int | None = None
    lead: list[str] = field(default_factory=list)
    """Folders put before its own places where it keeps those: the working directory under `python -m pytest`."""
    turns: Turns | None = None
    relocation: Relocation | None = None
    """Where the files lie that workloads name; None: where the test says."""


def parse_handover(data: bytes) -> Handover:
    """Read the instructions for this interpreter.

    Raises:
        UsageError: The parent is another version of the plugin.
    """
    try:
        told = json.loads(data)
        if told["version"] == HANDOVER_VERSION:
            return _handover(told)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise UsageError("the two environments have incompatible versions of pytest-devperf")


def _handover(told: dict[str, Any]) -> Handover:
    surroundings = told.pop("surroundings")
    providers = surroundings.pop("providers")
    turns, relocation = told.pop("turns"), told.pop("relocation")
    return Handover(
        **{
            **told,
            "surroundings": Surroundings(**surroundings, providers=None if providers is None else tuple(providers)),
            "wanted": [_wanted(each) for each in told["wanted"]],
            "turns": None if turns is None else Turns(**turns),
            "relocation": None if relocation is None else _relocation(relocation),
        }
    )


def _relocation(told: dict[str, Any]) -> Relocation:
    return Relocation(**{**told, "untracked": tuple(told["untracked"])})


def _wanted(told: dict[str, Any]) -> WantedCase:
    case = Case(id=told["case"]["id"], memory=told["case"]["memory"], plan=Plan(**told["case"]["plan"]))
    start_plans = {
        name: StartPlan(**{**start_plan, "earlier": Earlier(**start_plan["earlier"])})
        for name, start_plan in told["start_plans"].items()
    }
    return WantedCase(**{**told, "case": case, "start_plans": start_plans})
