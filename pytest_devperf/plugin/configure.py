"""Configure the measuring of a process."""

from __future__ import annotations

import inspect
import os
import secrets
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.config.findpaths import determine_setup

import pytest_devperf
from pytest_devperf.errors import UsageError
from pytest_devperf.plugin.calls import CALLS, METERS, PROVIDERS, Calls, open_targets
from pytest_devperf.plugin.collection import CollectionWatch, Suites
from pytest_devperf.plugin.github import Annotations
from pytest_devperf.plugin.hookspec import Services
from pytest_devperf.plugin.options import read_settings
from pytest_devperf.plugin.pytest_html import PytestHtml
from pytest_devperf.plugin.reports import Reports
from pytest_devperf.plugin.session import Here, MeasuringHooks, Place, command_line, note_on_plugins, send_to_pytest
from pytest_devperf.plugin.terminal import Screen
from pytest_devperf.session.budget import budget_of
from pytest_devperf.session.counting import SessionCounting
from pytest_devperf.session.devices.our_targets import TargetOptions
from pytest_devperf.session.devices.targets import AUTO, SessionTargets
from pytest_devperf.session.explaining.explainer import Explainer
from pytest_devperf.session.interpreters import Interpreters
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.kept.document_output import DocumentOutput
from pytest_devperf.session.kept.outputs import Outputs
from pytest_devperf.session.kept.results import Results
from pytest_devperf.session.kept.step_summary import find_step_summary, is_github
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.launch.handover import Surroundings
from pytest_devperf.session.launchers import Launchers
from pytest_devperf.session.log.recorder import LogFolder, SessionLog, open_log
from pytest_devperf.session.modes.counted_runs import CountedRuns
from pytest_devperf.session.modes.in_turns import InTurns
from pytest_devperf.session.modes.repetitions import Repetitions
from pytest_devperf.session.modes.saved_runs import SavedRuns
from pytest_devperf.session.old_environment import OldEnvironment
from pytest_devperf.session.options.settings import Settings, plan_of
from pytest_devperf.session.options.table import FLAGS, ROWS, Row
from pytest_devperf.session.resumption import Resumption
from pytest_devperf.session.session import Session
from pytest_devperf.session.starts.prefixes import prefixes_of

if TYPE_CHECKING:
    from pytest_devperf.plugin.xdist import Controller
    from pytest_devperf.session.modes.mode import Mode
    from pytest_devperf.targets.device import Device

OUTPUT: pytest.StashKey[DocumentOutput] = pytest.StashKey()
"""Standard output, reserved for a file that the session writes."""

CACHE_FOLDER = "devperf"
"""Folder in pytest's cache for the logs of sessions."""

SEED_BELOW = 2**31
"""Short seeds, which are easy to copy."""


def reserve_output(config: pytest.Config) -> None:
    """Reserve standard output for the run document or a report, until the session ends."""
    config.stash[OUTPUT] = DocumentOutput()
    config.add_cleanup(config.stash[OUTPUT].give_back)


def configure(config: pytest.Config) -> None:
    """Read the options and register the hooks that measure.

    Raises:
        UsageError: An option is invalid, or the gate could not be met.
    """
    check_rootdir(config)
    settings = read_settings(config)
    controller: Controller | None = None
    place: Place = Here()
    send, lenient, unit = send_to_pytest, False, 1
    if is_spread(config):
        from pytest_devperf.plugin import xdist

        xdist.check(settings)
        if hasattr(config, "workerinput"):
            settings = xdist.for_worker(settings, config.workerinput)
            # The controller has checked that some phone has a baseline; cases on a phone without one are new.
            place, send, lenient = xdist.Worker(config), xdist.send_to_controller, True
            unit = config.workerinput[xdist.UNIT]
        else:
            place = controller = xdist.Controller(config, settings)
    if config.option.usepdb or getattr(config.option, "trace", False) or _is_debugged():
        # A debugger is attached to this process: the others would run past it.
        settings = replace(settings, plan_cli={**settings.plan_cli, "processes": 1})
    targets = open_targets(config, settings.target, _target_options(settings), unit=unit)
    annotates = is_github(os.environ) and not settings.no_github and not hasattr(config, "workerinput")
    screen, watch = Screen(config, for_github=annotates), CollectionWatch(config)
    hint = note_on_plugins(config)
    reports = Reports(config, send, fail_on_incomparable=settings.fail_on_incomparable, hint=hint)
    session = make_session(config, settings, targets, reports, screen, controller)
    session.baselines.lenient = lenient
    session.hint = hint
    hooks = MeasuringHooks(config, session, reports, screen, watch, place)
    config.stash[METERS], config.stash[PROVIDERS] = hooks, settings.provider
    register = config.pluginmanager.register
    register(hooks, "devperf-session")
    register(watch, "devperf-collected")
    register(Calls(hooks), CALLS)
    register(Suites(session.plan.suite), "devperf-suites")
    _register_reports(config, annotates=annotates)
    if controller is not None:
        controller.take_part(session, watch)
        register(controller, "devperf-controller")


def _register_reports(config: pytest.Config, *, annotates: bool) -> None:
    """Register what writes cases into the reports of others.

    Args:
        config: pytest's configuration.
        annotates: Whether to annotate failed cases in GitHub Actions.
    """
    config.pluginmanager.register(PytestHtml(), "devperf-pytest-html")
    if annotates:
        annotations = Annotations(config, os.environ.get("GITHUB_WORKSPACE"))
        config.pluginmanager.register(annotations, "devperf-annotations")


def make_session(
    config: pytest.Config,
    settings: Settings,
    targets: SessionTargets,
    reports: Reports,
    screen: Screen,
    controller: Controller | None,
) -> Session:
    """Create the measuring session."""
    services = Services(config)
    folder = Path(config.invocation_params.dir)
    storage = Storage(config.rootpath, folder, settings.store, pytest_devperf.__version__, services.make_store)
    log = _open_log(config, settings, screen)
    seed = settings.plan_named.get("seed", log.seed)
    plan = plan_of(settings, {}, seed)
    old = _old_environment(config, settings)
    counting = SessionCounting()

    def devices() -> Sequence[Device]:
        """Return the session's devices, including one that `auto` may use."""
        if controller is not None:
            return controller.devices()
        phone = targets.phone() if settings.target == AUTO else None
        return [target.device for target in (targets.session_target(), phone) if target is not None]

    interpreters = _interpreters(config, settings, seed, screen, old, counting)
    return Session(
        settings=settings,
        plan=plan,
        mode=_mode(settings, services, old),
        targets=targets,
        baselines=Baselines(settings, storage, devices, counting.known),
        results=Results(
            settings,
            storage,
            targets,
            plan,
            Outputs(settings, folder, config.stash.get(OUTPUT, None)),
            log.name,
            None if settings.no_github else find_step_summary(os.environ),
        ),
        launchers=Launchers(
            targets=targets,
            interpreters=interpreters,
            display=screen,
            plan=plan,
            prefixes=prefixes_of(config.rootpath, folder, getattr(config.option, "basetemp", None)),
            use_anchor=not settings.no_anchor,
        ),
        resumption=Resumption(log=log),
        reporter=reports,
        display=screen,
        budget=budget_of(settings),
        explainer=Explainer(
            mode="off" if settings.counts_only else settings.explain,
            saves=settings.save is not None,
            in_turns=old is not None,
            interpreters=interpreters,
            reporter=reports,
            display=screen,
            clock=lambda: targets.clock,
        ),
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


def _interpreters(
    config: pytest.Config,
    settings: Settings,
    seed: int,
    screen: Screen,
    old: OldEnvironment | None,
    counting: SessionCounting,
) -> Interpreters:
    surroundings = Surroundings(
        identity=settings.identity,
        providers=settings.provider,
        affinity=settings.plan_named.get("affinity"),
        use_anchor=not settings.no_anchor,
    )
    return Interpreters(
        command_line=lambda: command_line(config),
        surroundings=surroundings,
        seed=seed,
        display=screen,
        old=old,
        counting=counting,
    )


def _mode(settings: Settings, services: Services, old: OldEnvironment | None) -> Mode:
    """Choose the session's mode: saved runs, turns or repetitions."""
    if settings.aa is not None:
        return Repetitions(settings, settings.aa)
    if old is not None:
        return InTurns(settings, old)
    mode = CountedRuns if settings.counts_only else SavedRuns
    return mode(settings, services.compare)


def _target_options(settings: Settings) -> TargetOptions:
    return TargetOptions(
        identity=settings.identity,
        pin_clocks=settings.plan_named.get("pin_clocks", "auto"),
        affinity=settings.plan_named.get("affinity"),
        runner=settings.runner,
        runtime_library=settings.runtime_library,
    )


def _is_debugged() -> bool:
    """Return whether a debugger is attached: coverage tools trace too, but do not stop."""
    return "pydevd" in sys.modules or "debugpy" in sys.modules


def is_spread(config: pytest.Config) -> bool:
    """Return whether pytest-xdist spreads this session over workers."""
    workers = getattr(config.option, "numprocesses", None)
    spread = getattr(config.option, "dist", "no") != "no" or bool(getattr(config.option, "tx", None))
    return hasattr(config, "workerinput") or bool(workers) or spread


# -- values of our options that pytest took for paths of tests ------------------------------------------


def check_rootdir(config: pytest.Config) -> None:
    """Refuse a value of an option that changed pytest's root folder.

    pytest determines its root folder before plugins have registered their options. A value in a separate argument
    (`--devperf-compare /elsewhere/run.json`) is then a path like any other, and may change the root folder: all node
    ids change, and every case loses its baseline.

    Raises:
        UsageError: A value did; the message shows how to write it instead.
    """
    paths: list[str] = list(config.option.file_or_dir)
    values = [(row, value) for row, value in _separate_values(config) if _is_there(config, value)]
    for row, value in values:
        found, meant = _root(config, [*paths, value]), _root(config, paths)
        if found != meant:
            raise UsageError(
                f"pytest took the {value} after {row.flag} for a path of tests, and so {found} for its root folder, "
                f"not {meant}: write {row.flag}={value} as one argument"
            )


def _separate_values(config: pytest.Config) -> Iterator[tuple[Row, str]]:
    words = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *map(str, config.invocation_params.args)]
    rows = {row.flag: row for row in ROWS if row.kind not in FLAGS}
    for word, following in pairwise(words):
        if word in rows:
            yield rows[word], following


def _is_there(config: pytest.Config, value: str) -> bool:
    return os.path.exists(Path(config.invocation_params.dir) / value.split("::", maxsplit=1)[0])  # noqa: PTH110 - never raises


def _root(config: pytest.Config, paths: Sequence[str]) -> Path:
    """Determine the root folder that pytest would choose."""
    given = {
        "inifile": config.option.inifilename,
        "override_ini": None,
        "args": paths,
        "rootdir_cmd_arg": config.option.rootdir or None,
        "invocation_dir": config.invocation_params.dir,
    }
    known = inspect.signature(determine_setup).parameters  # `override_ini` is new in pytest 8.3
    root: Path = determine_setup(**{name: value for name, value in given.items() if name in known})[0]
    return root
