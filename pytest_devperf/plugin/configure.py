"""Configure the measuring of a process."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.config.findpaths import determine_setup

from pytest_devperf.errors import UsageError
from pytest_devperf.plugin.calls import CALLS, METERS, PROVIDERS, Calls, open_targets
from pytest_devperf.plugin.collection import CollectionWatch, Suites
from pytest_devperf.plugin.make import OUTPUT, is_spread, make_session
from pytest_devperf.plugin.options import read_settings
from pytest_devperf.plugin.others.github import Annotations
from pytest_devperf.plugin.others.pytest_html import PytestHtml
from pytest_devperf.plugin.reports import RanTest, Reports
from pytest_devperf.plugin.session import Here, MeasuringHooks, Place, note_on_plugins, send_to_pytest
from pytest_devperf.plugin.terminal import Screen
from pytest_devperf.session.devices.our_targets import TargetOptions
from pytest_devperf.session.kept.document_output import DocumentOutput
from pytest_devperf.session.kept.step_summary import is_github
from pytest_devperf.session.options.row import FLAGS, Row
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.options.table import ROWS

if TYPE_CHECKING:
    from pytest_devperf.plugin.others.xdist import Controller


def reserve_output(config: pytest.Config) -> None:
    """Reserve standard output for the run document or a report, until the session ends."""
    config.stash[OUTPUT] = DocumentOutput()
    config.add_cleanup(config.stash[OUTPUT].give_back)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Role:
    """What this process is in a session: the only one, or the controller or a worker of pytest-xdist."""

    settings: Settings
    place: Place
    send: Callable[[RanTest], None] = send_to_pytest
    lenient: bool = False
    """Whether a case without a baseline is new even if the session requires one."""
    unit: int = 1
    """Number of the simulated phone."""
    controller: Controller | None = None


def _role_of(config: pytest.Config, settings: Settings) -> _Role:
    """Determine the role of this process.

    Raises:
        UsageError: The session is spread over workers and cannot be.
    """
    if not is_spread(config):
        return _Role(settings=settings, place=Here())
    from pytest_devperf.plugin.others import xdist

    xdist.check(settings)
    if not hasattr(config, "workerinput"):
        controller = xdist.Controller(config, settings)
        return _Role(settings=settings, place=controller, controller=controller)
    return _Role(
        settings=xdist.for_worker(settings, config.workerinput),
        place=xdist.Worker(config),
        send=xdist.send_to_controller,
        lenient=True,  # the controller has checked that some phone has a baseline
        unit=config.workerinput[xdist.UNIT],
    )


def configure(config: pytest.Config) -> None:
    """Read the options and register the hooks that measure.

    Raises:
        UsageError: An option is invalid, or the gate could not be met.
    """
    check_rootdir(config)
    role = _role_of(config, read_settings(config))
    settings, controller = role.settings, role.controller
    if config.option.usepdb or getattr(config.option, "trace", False) or _is_debugged():
        # A debugger is attached to this process: the others would run past it.
        settings = replace(settings, plan_cli={**settings.plan_cli, "processes": 1})
    targets = open_targets(config, settings.target, _target_options(settings), unit=role.unit)
    annotates = is_github(os.environ) and not settings.no_github and not hasattr(config, "workerinput")
    screen, watch = Screen(config, for_github=annotates), CollectionWatch(config)
    hint = note_on_plugins(config)
    reports = Reports(config, role.send, fail_on_incomparable=settings.fail_on_incomparable, hint=hint)
    session = make_session(
        config, settings, targets, reports, screen, None if controller is None else controller.devices
    )
    session.baselines.lenient = role.lenient
    session.hint = hint
    hooks = MeasuringHooks(config, session, reports, screen, watch, role.place)
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
