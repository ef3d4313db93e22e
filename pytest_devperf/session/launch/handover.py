"""The messages between a session and its fresh interpreters.

This module is imported in every fresh interpreter before its first test, so it imports only what parsing needs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.errors import UsageError
from pytest_devperf.measure.round import Earlier, StartPlan
from pytest_devperf.session.starts.start import Role

if TYPE_CHECKING:
    from pytest_devperf.count.pace import Pace
    from pytest_devperf.session.launch.relocation import Relocation
    from pytest_devperf.session.launch.turn_client import Turns
    from pytest_devperf.session.launch.under_valgrind import UnderValgrind

HANDOVER_VERSION = 6
"""Version of the messages between a session's process and a fresh interpreter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCase:
    """One case that a fresh interpreter has to run."""

    index: int
    """Its index in the session; results are sent with it."""
    path: str
    nodeid: str
    nth: int
    """Zero-based position among several equal node ids."""
    case: Case
    """The parts that matter for measuring: id, plan, and whether memory is measured."""
    start_plans: Mapping[str, StartPlan]
    paces: Mapping[str, Pace] = field(default_factory=dict)
    """How metrics are counted, if they are to be compared."""


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
    """pytest's command line, exactly as in the parent."""
    sys_path: list[str] | None
    """Its import path; None: that of its own environment."""
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
    """Folders before its own import path, if it keeps that: the working directory under `python -m pytest`."""
    turns: Turns | None = None
    relocation: Relocation | None = None
    """The folder of the files that workloads name; None: as the test names them."""
    valgrind: UnderValgrind | None = None


def parse_handover(data: bytes) -> Handover:
    """Parse the instructions for this interpreter.

    Raises:
        UsageError: The parent has another version of the plugin.
    """
    try:
        received = json.loads(data)
        if received["version"] == HANDOVER_VERSION:
            return _handover(received)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise UsageError("the two environments have incompatible versions of pytest-devperf")


def _handover(received: dict[str, Any]) -> Handover:
    surroundings = received.pop("surroundings")
    providers = surroundings.pop("providers")
    return Handover(
        **{
            **received,
            "surroundings": Surroundings(**surroundings, providers=None if providers is None else tuple(providers)),
            "wanted": [_wanted(each) for each in received["wanted"]],
            "turns": None if received["turns"] is None else _turns(received["turns"]),
            "relocation": None if received["relocation"] is None else _relocation(received["relocation"]),
            "valgrind": None if received["valgrind"] is None else _under_valgrind(received["valgrind"]),
        }
    )


def _wanted(received: dict[str, Any]) -> WantedCase:
    case = Case(id=received["case"]["id"], memory=received["case"]["memory"], plan=Plan(**received["case"]["plan"]))
    start_plans = {
        name: StartPlan(**{**start_plan, "earlier": Earlier(**start_plan["earlier"])})
        for name, start_plan in received["start_plans"].items()
    }
    paces = {name: _pace(pace) for name, pace in received["paces"].items()}
    return WantedCase(**{**received, "case": case, "start_plans": start_plans, "paces": paces})


# An interpreter that only times is given none of the following, so it does not import their modules.


def _turns(received: dict[str, Any]) -> Turns:
    from pytest_devperf.session.launch.turn_client import Turns

    return Turns(**received)


def _relocation(received: dict[str, Any]) -> Relocation:
    from pytest_devperf.session.launch.relocation import Relocation

    return Relocation(**{**received, "untracked": tuple(received["untracked"])})


def _under_valgrind(received: dict[str, Any]) -> UnderValgrind:
    from pytest_devperf.session.launch.under_valgrind import UnderValgrind

    return UnderValgrind(**received)


def _pace(received: dict[str, Any]) -> Pace:
    from pytest_devperf.count.pace import Pace

    return Pace(**received)
