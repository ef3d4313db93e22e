"""Where a session begins to measure, and where a test gets its fixture."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.plugin.calls import METERS, Calls, Unmeasured
from pytest_devperf.plugin.chosen import Options, read_options, read_plain_options
from pytest_devperf.plugin.fixture import Benchmark
from pytest_devperf.plugin.marker import target_elsewhere
from pytest_devperf.plugin.place import Places

if TYPE_CHECKING:
    from pytest_devperf.plugin.campaign import Campaign
    from pytest_devperf.plugin.meter import Meter

PLACES: pytest.StashKey[Places] = pytest.StashKey()
OPTIONS: pytest.StashKey[Options] = pytest.StashKey()

CALLS = "devperf-calls"
"""Name under which the hooks around a case's call are registered."""

SEED_BELOW = 2**31
"""Seeds are short enough to be typed again."""


def begin(config: pytest.Config) -> None:
    """Read the options and register the parts that measure.

    Raises:
        pytest.UsageError: An option cannot be used, or the gate could not hold.
    """
    options = take_options(config)
    if is_spread(config):
        options = _over_phones(config, options)
    if config.option.usepdb or getattr(config.option, "trace", False) or _is_debugged():
        # A debugger sits in this process: the others would run past it.
        options = _in_one_process(config, options)
    from pytest_devperf.plugin.suites import Suites

    seed = options.plan_cli.get("seed", options.plan_ini.get("seed", secrets.randbelow(SEED_BELOW)))
    campaign = _kind_of_campaign(config, options)(config, options, places_of(config), seed)
    config.stash[METERS] = campaign
    config.pluginmanager.register(campaign, "devperf-campaign")
    config.pluginmanager.register(campaign.collected, "devperf-collected")
    config.pluginmanager.register(Calls(campaign), CALLS)
    config.pluginmanager.register(Suites(campaign.plan.suite), "devperf-suites")


def _kind_of_campaign(config: pytest.Config, options: Options) -> type[Campaign]:
    """Choose what the session is about: runs that are kept and compared, or one of their own kind."""
    if is_spread(config):
        from pytest_devperf.plugin.phones import Controller, Worker

        return Worker if hasattr(config, "workerinput") else Controller
    if options.aa is not None:
        from pytest_devperf.plugin.repeat import Repeating

        return Repeating
    if options.against is not None:
        from pytest_devperf.plugin.against import Against

        return Against
    from pytest_devperf.plugin.campaign import Campaign

    return Campaign


def take_options(config: pytest.Config) -> Options:
    """Read the options of a process that measures.

    Raises:
        pytest.UsageError: One cannot be used.
    """
    config.stash[OPTIONS] = read_options(config)
    return config.stash[OPTIONS]


def options_of(config: pytest.Config) -> Options:
    """Give the session's options; one that measures nothing has few."""
    if OPTIONS not in config.stash:
        config.stash[OPTIONS] = read_plain_options(config)
    return config.stash[OPTIONS]


def places_of(config: pytest.Config) -> Places:
    """Open the session's places once."""
    if PLACES not in config.stash:
        config.stash[PLACES] = Places(config, options_of(config))
    return config.stash[PLACES]


def benchmark_of(request: pytest.FixtureRequest) -> Benchmark:
    """Make the fixture of a test: measuring where the session measures, calling once elsewhere."""
    config = request.config
    meters = config.stash.get(METERS, None)
    meter: Meter | None = meters.meter(request.node) if meters is not None else None
    if meters is None and not config.pluginmanager.has_plugin(CALLS):
        config.pluginmanager.register(Unmeasured(), CALLS)
    elsewhere = target_elsewhere(request.node) if meters is None else None
    if elsewhere is not None:
        pytest.skip(f"pinned to the target {elsewhere}, which only --devperf measures on")
    return Benchmark(
        case_id=meter.case.id if meter is not None else request.node.nodeid,
        folder=str(Path(request.node.path).parent),
        providers=options_of(config).provider,
        meter=meter,
        once=lambda: places_of(config).host(),
    )


def _in_one_process(config: pytest.Config, options: Options) -> Options:
    from dataclasses import replace

    config.stash[OPTIONS] = replace(options, plan_cli={**options.plan_cli, "processes": 1})
    return config.stash[OPTIONS]


def _is_debugged() -> bool:
    """Tell whether a debugger has attached itself: coverage tools trace too, but do not stop."""
    import sys

    return "pydevd" in sys.modules or "debugpy" in sys.modules


def is_spread(config: pytest.Config) -> bool:
    """Tell whether pytest-xdist spreads this session over workers."""
    workers = getattr(config.option, "numprocesses", None)
    spread = getattr(config.option, "dist", "no") != "no" or bool(getattr(config.option, "tx", None))
    return hasattr(config, "workerinput") or bool(workers) or spread


def _over_phones(config: pytest.Config, options: Options) -> Options:
    """Workers on one machine disturb each other; workers with a phone each do not."""
    from pytest_devperf.plugin.phones import check, for_worker

    check(options)
    if hasattr(config, "workerinput"):
        config.stash[OPTIONS] = for_worker(options, config.workerinput)
    return config.stash[OPTIONS]
