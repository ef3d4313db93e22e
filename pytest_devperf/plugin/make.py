"""Make the measuring session of a process from pytest's configuration and the user's settings."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pytest_devperf
from pytest_devperf.plugin.hookspec import Services
from pytest_devperf.plugin.reports import Reports
from pytest_devperf.plugin.session import command_line
from pytest_devperf.plugin.terminal import Screen
from pytest_devperf.session.budget import budget_of
from pytest_devperf.session.devices.targets import AUTO, SessionTargets
from pytest_devperf.session.explaining.explainer import Explainer
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.kept.document_output import DocumentOutput
from pytest_devperf.session.kept.outputs import Outputs
from pytest_devperf.session.kept.results import Results
from pytest_devperf.session.kept.step_summary import StepSummary, find_step_summary
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.launch.handover import Surroundings
from pytest_devperf.session.log.recorder import LogFolder, SessionLog, open_log
from pytest_devperf.session.log.resumption import Resumption
from pytest_devperf.session.modes.counted_runs import CountedRuns
from pytest_devperf.session.modes.in_turns import InTurns
from pytest_devperf.session.modes.repetitions import Repetitions
from pytest_devperf.session.modes.saved_runs import SavedRuns
from pytest_devperf.session.options.settings import Settings, plan_of
from pytest_devperf.session.revision.old_environment import OldEnvironment
from pytest_devperf.session.running.counting import SessionCounting
from pytest_devperf.session.running.interpreters import Interpreters
from pytest_devperf.session.running.launchers import Launchers
from pytest_devperf.session.session import Session
from pytest_devperf.session.starts.prefixes import prefixes_of

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.session.modes.mode import Mode
    from pytest_devperf.targets.device import Device

OUTPUT: pytest.StashKey[DocumentOutput] = pytest.StashKey()
"""Standard output, reserved for a file that the session writes."""

CACHE_FOLDER = "devperf"
"""Folder in pytest's cache for the logs of sessions."""

SEED_BELOW = 2**31
"""Short seeds, which are easy to copy."""


def make_session(
    config: pytest.Config,
    settings: Settings,
    targets: SessionTargets,
    reports: Reports,
    screen: Screen,
    known: Callable[[], Sequence[Device]] | None,
) -> Session:
    """Create the measuring session.

    Args:
        config: pytest's configuration.
        settings: What the user asked for.
        targets: The session's devices.
        reports: Receives what became of the cases.
        screen: Shows what is going on.
        known: Returns the devices of all workers; None: this process is the only one.
    """
    services = Services(config)
    folder = Path(config.invocation_params.dir)
    storage = Storage(config.rootpath, folder, settings.store, pytest_devperf.__version__, services.make_store)
    log = _open_log(config, settings, screen)
    plan = plan_of(settings, {}, settings.plan_named.get("seed", log.seed))
    old = _old_environment(config, settings)
    counting = SessionCounting()
    outputs = Outputs(settings, folder, config.stash.get(OUTPUT, None))
    interpreters = Interpreters(
        command_line=lambda: command_line(config),
        surroundings=_surroundings(settings),
        seed=plan.seed,
        display=screen,
        old=old,
        counting=counting,
    )
    launchers = _launchers(config, settings, plan, interpreters, targets, screen)
    return Session(
        settings=settings,
        plan=plan,
        mode=_mode(settings, services, old),
        targets=targets,
        baselines=Baselines(settings, storage, known or partial(_devices, settings, targets), counting.known),
        results=Results(settings, storage, targets, plan, outputs, log.name, _step_summary(settings)),
        launchers=launchers,
        resumption=Resumption(log=log),
        reporter=reports,
        display=screen,
        budget=budget_of(settings),
        explainer=_explainer(settings, targets, launchers, reports, screen),
        counting=counting,
    )


def _old_environment(config: pytest.Config, settings: Settings) -> OldEnvironment | None:
    if settings.against is None:
        return None
    folder, patterns = Path(config.invocation_params.dir), config.getini("python_files")
    old = OldEnvironment(settings.against, folder=folder, root=config.rootpath, python_files=patterns)
    config.add_cleanup(old.close)
    return old


def _open_log(config: pytest.Config, settings: Settings, screen: Screen) -> SessionLog:
    """Open the session's log in pytest's cache: it is this machine's, is never committed, and survives its session."""
    cache = config.cache if hasattr(config, "cache") and not is_spread(config) else None
    folder = None
    if cache is not None:
        path = Path(cache._cachedir, cache._CACHE_PREFIX_DIRS, CACHE_FOLDER)  # noqa: SLF001 - `mkdir` would create it
        folder = LogFolder(path=path, make=lambda: cache.mkdir(CACHE_FOLDER), root=config.rootpath)
    log = open_log(
        folder,
        resume=settings.resume,
        seed=secrets.randbelow(SEED_BELOW),
        shuffle_seed=lambda: getattr(config.option, "randomly_seed", None),
        warn=screen.announce,
    )
    if log.resumed is not None and log.resumed.header.shuffle_seed is not None:
        config.option.randomly_seed = log.resumed.header.shuffle_seed
    config.add_cleanup(log.close)
    return log


def _step_summary(settings: Settings) -> StepSummary | None:
    return None if settings.no_github else find_step_summary(os.environ)


def _devices(settings: Settings, targets: SessionTargets) -> Sequence[Device]:
    """Return the session's devices, including one that `auto` may use."""
    phone = targets.phone() if settings.target == AUTO else None
    return [target.device for target in (targets.session_target(), phone) if target is not None]


def _surroundings(settings: Settings) -> Surroundings:
    return Surroundings(
        identity=settings.identity,
        providers=settings.provider,
        affinity=settings.plan_named.get("affinity"),
        use_anchor=not settings.no_anchor,
    )


def _launchers(
    config: pytest.Config,
    settings: Settings,
    plan: Plan,
    interpreters: Interpreters,
    targets: SessionTargets,
    screen: Screen,
) -> Launchers:
    folder = Path(config.invocation_params.dir)
    return Launchers(
        targets=targets,
        interpreters=interpreters,
        display=screen,
        plan=plan,
        prefixes=prefixes_of(config.rootpath, folder, getattr(config.option, "basetemp", None)),
        use_anchor=not settings.no_anchor,
    )


def _explainer(
    settings: Settings, targets: SessionTargets, launchers: Launchers, reports: Reports, screen: Screen
) -> Explainer:
    return Explainer(
        mode="off" if settings.counts_only else settings.explain,
        saves=settings.save is not None,
        in_turns=settings.against is not None,
        launchers=launchers,
        reporter=reports,
        display=screen,
        clock=lambda: targets.clock,
    )


def _mode(settings: Settings, services: Services, old: OldEnvironment | None) -> Mode:
    """Choose the session's mode: saved runs, turns or repetitions."""
    if settings.aa is not None:
        return Repetitions(settings, settings.aa)
    if old is not None:
        return InTurns(settings, old)
    mode = CountedRuns if settings.counts_only else SavedRuns
    return mode(settings, services.compare)


def is_spread(config: pytest.Config) -> bool:
    """Return whether pytest-xdist spreads this session over workers."""
    workers = getattr(config.option, "numprocesses", None)
    spread = getattr(config.option, "dist", "no") != "no" or bool(getattr(config.option, "tx", None))
    return hasattr(config, "workerinput") or bool(workers) or spread
