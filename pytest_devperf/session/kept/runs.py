"""Build runs from the cases of a session: one per device."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_devperf.record.codec import settings_of
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.sensor.summary import chain_looks, summarise
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.name import SessionName
from pytest_devperf.session.starts.device import plan_on
from pytest_devperf.store.commit import read_commit

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.sensor.run_context import RunContext
    from pytest_devperf.session.kept.baselines import Missing
    from pytest_devperf.targets.device import Device

RUN_ID_DIGITS = 8
"""Hex digits of a run's id: enough to distinguish the runs of one second."""


class Runs:
    """Makes the runs of a session; the run of a device keeps its id when it is made again."""

    def __init__(self, root: Path, plan: Plan, version: str, name: SessionName) -> None:
        """Record what all runs have in common.

        Args:
            root: The root folder of the tests.
            plan: The plan of a case without marker keywords.
            version: Version of this package.
            name: The name of the session, from which its runs get theirs.
        """
        self._version = version
        self._root = root
        self._plan = plan
        self._name = name

    def make(self, states: Iterable[tuple[CaseState, Device]], missing: Iterable[Missing]) -> list[Run]:
        """Make one run per device on which cases were measured, or should have been.

        Args:
            states: Every case with its device.
            missing: Cases of the baselines that were not measured.
        """
        groups: dict[str, tuple[DeviceRecord, list[CaseState]]] = {}
        for state, device in states:
            groups.setdefault(device.fingerprint, (DeviceRecord.of(device), []))[1].append(state)
        lacking = {each.device.fingerprint: each for each in missing}
        for fingerprint, each in lacking.items():
            groups.setdefault(fingerprint, (each.device, []))
        commit = read_commit(self._root) if groups else None
        return [
            Run(
                id=_run_id(self._name, fingerprint),
                taken_at=self._name.taken_at,
                devperf_version=self._version,
                commit=commit,
                device=device,
                settings=settings_of(plan_on(self._plan, device.kind)),
                run_context=_context(members),
                cases=tuple(state.record for state in members if state.record is not None),
                unfinished=tuple(state.case.id for state in members if not state.concluded),
                missing=lacking[fingerprint].cases if fingerprint in lacking else (),
            )
            for fingerprint, (device, members) in groups.items()
        ]


def _run_id(name: SessionName, fingerprint: str) -> str:
    """Name a device's run; it keeps its id however often it is made, also in a session that is resumed."""
    return hashlib.sha256(f"{name.id} {fingerprint}".encode()).hexdigest()[:RUN_ID_DIGITS]


def _context(members: Sequence[CaseState]) -> RunContext:
    """Summarise the context of a run, from its first case's first reading to its last case's last."""
    starts = [start for state in members for start in state.starts]
    context = summarise(
        sorted(chain_looks(start.looks for start in starts), key=lambda look: look.at_ns),
        [taken for start in starts for timed in start.timed for taken in timed.start_result.rounds],
        prerun=next((start.prerun for start in starts if start.prerun is not None), None),
    )
    env = dict(context.env)
    for start in starts:
        env.update({fact: value for fact, value in start.env.items() if value is not None})
    known = [state.record.run_context.comparable_to_baseline for state in members if state.record is not None]
    comparable = any(known) if any(each is not None for each in known) else None
    return replace(context, env=env, comparable_to_baseline=comparable)
