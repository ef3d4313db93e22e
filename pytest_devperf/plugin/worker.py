"""Run the requested cases in a fresh interpreter as one process start, and write their results."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.plugin.calls import CALLS, METERS, PROVIDERS, Calls, open_targets, run_protocol, usage_errors
from pytest_devperf.sensor.context import Context
from pytest_devperf.session.devices.our_targets import TargetOptions
from pytest_devperf.session.launch.handover import Handover, WantedCase, parse_handover
from pytest_devperf.session.starts.meters.bench import Bench, Tools
from pytest_devperf.session.starts.meters.timing import Meter
from pytest_devperf.session.starts.orders import LaterOrders
from pytest_devperf.session.starts.prefixes import prefixes_of
from pytest_devperf.targets.device import HOST

if TYPE_CHECKING:
    from pytest_devperf.session.launch.layouts import Layouts
    from pytest_devperf.session.launch.turn_client import TurnClient, Turns
    from pytest_devperf.session.starts.meters.counting import AnyMeter

NEUTRAL: dict[str, Any] = {
    # Only the parent writes these files. `log_file=None` would fall back to the ini key.
    "xmlpath": None,
    "log_file": "",
    "htmlpath": None,
    "report_log": None,
    "json_report": False,
    "allure_report_dir": None,
    "no_cov": True,
    "pastebin": None,
    "durations": None,
    # Only the parent selects tests.
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "stepwise_reset": False,
    "cacheclear": False,
    "maxfail": 0,
    # There is no user at this terminal.
    "usepdb": False,
    "trace": False,
    "setupshow": False,
    # There is only this process.
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    # Verdicts and records belong to the parent.
    "devperf": True,
    "devperf_save": None,
    "devperf_append": None,
    "devperf_compare": None,
    "devperf_json": None,
    "devperf_html": None,
    "devperf_markdown": None,
    "devperf_aa": None,
    "devperf_against": None,
    "devperf_resume": None,
    "devperf_count": None,
}
"""Parsed options and the values that make them harmless here; only options that exist are set."""


def begin(early_config: pytest.Config, path: str) -> None:
    """Configure this process as a fresh interpreter of a session, as described by a file."""
    with usage_errors(), open(path, "rb") as file:  # noqa: PTH123 - as short
        handover = parse_handover(file.read())
    neutralise(early_config.known_args_namespace, handover)
    early_config.pluginmanager.register(Worker(handover), "devperf-worker")


def neutralise(option: Any, handover: Handover) -> None:  # noqa: ANN401 - pytest's namespace
    """Reset the parsed options that would harm the parent's files or select other cases."""
    for name, value in NEUTRAL.items():
        if hasattr(option, name):
            setattr(option, name, value)
    option.basetemp = handover.basetemp
    if handover.role == "counted" and hasattr(option, "timeout"):
        option.timeout = 0  # pytest-timeout's limit is for a test that valgrind does not run
    if handover.randomly_seed is not None and hasattr(option, "randomly_seed"):
        # Otherwise every start would draw other random numbers, and so run another workload.
        option.randomly_seed = handover.randomly_seed


def follow_parent(parent_pid: int) -> None:
    """End with the parent, even if it is killed: an orphan would disturb every later measurement."""
    if sys.platform == "linux":
        import ctypes
        import signal

        set_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


class Worker:
    """The hooks of a fresh interpreter."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self._wanted = {(wanted.path, _in_file(wanted.nodeid), wanted.nth): wanted for wanted in handover.wanted}
        self._folders = {path for wanted in handover.wanted for path in _lineage(wanted.path)}
        self._meter: AnyMeter | None = None
        self._layouts: Layouts | None = None
        follow_parent(handover.parent_pid)
        self._turns = _turn_client(handover.turns) if handover.turns is not None else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Neutralise the options again: conftests may have added some."""
        neutralise(config.option, self._handover)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Set the targets of this machine, and provide cases with their meters."""
        surroundings, relocation = self._handover.surroundings, self._handover.relocation
        options = TargetOptions(identity=surroundings.identity, affinity=surroundings.affinity, relocation=relocation)
        self._targets = open_targets(config, HOST, options)
        config.stash[METERS], config.stash[PROVIDERS] = self, surroundings.providers
        config.pluginmanager.register(Calls(self), CALLS)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore files that contain no requested case."""
        return None if str(collection_path) in self._folders else True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Shuffle before pytest groups tests by fixture, and select the requested cases after that."""
        chosen = self._chosen = self._choose(items)
        shuffle(items, self._handover.shuffle_seed)
        yield
        items[:] = dict.fromkeys(item for item in items if id(item) in chosen)
        if self._turns is not None:
            # Both sides of a pair run their cases in the same order.
            order = {wanted.index: place for place, wanted in enumerate(self._handover.wanted)}
            items.sort(key=lambda item: order[chosen[id(item)].index])
        self._write_absent()

    def _choose(self, items: Sequence[pytest.Item]) -> dict[int, WantedCase]:
        """Find the requested cases among the tests, by the identity of their items."""
        count: dict[tuple[str, str], int] = {}
        chosen: dict[int, WantedCase] = {}
        for item in items:
            key = (str(item.path), _in_file(item.nodeid))
            nth = count[key] = count.get(key, -1) + 1
            wanted = self._wanted.get((*key, nth))
            if wanted is not None:
                chosen[id(item)] = wanted
        return chosen

    def _write_absent(self) -> None:
        present = {wanted.index for wanted in self._chosen.values()}
        for wanted in self._handover.wanted:
            if wanted.index not in present:
                self._write({"kind": "absent", "index": wanted.index})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a case once and write its result."""
        wanted = self._chosen[id(item)]
        if self._turns is not None:
            self._turns.wait("case", wanted.index)
        self._write({"kind": "start", "index": wanted.index})
        make_bench = partial(self._make_bench, item.config, wanted)
        if self._handover.role == "counted":
            # A fork ends with its test, so nothing that the test has set up may be left for the next one.
            found = self._open_layouts().count(make_bench, partial(self._run, item, None), wanted.paces)
        else:
            found = self._run(item, nextitem, Meter(make_bench()))
        self._write({"kind": "finish", "index": wanted.index, **found})
        return True

    def _run(self, item: pytest.Item, nextitem: pytest.Item | None, meter: AnyMeter) -> Mapping[str, Any]:
        """Run a test with a meter; return what came of it as plain data."""
        self._meter = meter
        reports, subtests = run_protocol(item, nextitem)
        self._meter = None
        write = partial(item.config.hook.pytest_report_to_serializable, config=item.config)
        return {
            "start": asdict(meter.bench.start),
            "reports": [write(report=report) for report in (*subtests, *reports)],
        }

    def _open_layouts(self) -> Layouts:
        # No property: pluggy reads every attribute of what is registered, and would import this in each interpreter.
        if self._layouts is None:
            from pytest_devperf.session.launch.layouts import Layouts

            handover = self._handover
            assert handover.valgrind is not None, "what counts is run by valgrind"
            self._layouts = Layouts(handover.valgrind, handover.process)
        return self._layouts

    def _make_bench(self, config: pytest.Config, wanted: WantedCase) -> Bench:
        handover, case = self._handover, wanted.case
        tools = Tools(
            clock=self._targets.clock,
            prefixes=prefixes_of(config.rootpath, Path(config.invocation_params.dir), handover.basetemp),
            use_anchor=handover.surroundings.use_anchor and self._turns is None,
            # Heat and load change no count, and valgrind makes a look slow.
            look=self._targets.sensors.look if handover.role != "counted" else lambda _: Context(at_ns=0),
            on_round=lambda _: self._after_round(wanted),
        )
        orders = LaterOrders(case.id, handover.process, handover.role, wanted.start_plans)
        return Bench(case, orders, self._targets.chooser(case), tools)

    def _after_round(self, wanted: WantedCase) -> None:
        if self._turns is not None:
            self._turns.wait("round", wanted.index)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report to the other side of a pair that nothing is left to run."""
        if self._turns is not None:
            relocation, files = self._handover.relocation, list(map(_file_of, list(sys.modules.values())))
            of_revision = relocation is not None and any(file and relocation.has(file) for file in files)
            self._turns.leave(_modules_below(session.config.rootpath, self._folders), of_revision=of_revision)

    def meter(self, item: pytest.Item) -> AnyMeter | None:  # noqa: ARG002 - as in the parent, which needs the item
        """Return the meter of the running case."""
        return self._meter

    def _write(self, event: dict[str, Any]) -> None:
        with Path(self._handover.output).open("a", encoding="ascii") as file:
            file.write(json.dumps(event, default=repr) + "\n")


def _turn_client(address: Turns) -> TurnClient:
    from pytest_devperf.session.launch.turn_client import TurnClient

    return TurnClient(address)


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffle files, then the cases within each file."""
    draw = random.Random(seed)  # noqa: S311 - an order, not a secret
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(str(item.path), []).append(item)
    order = list(files.values())
    draw.shuffle(order)
    for members in order:
        draw.shuffle(members)
    items[:] = [item for members in order for item in members]


def _modules_below(folder: Path, tests: set[str]) -> list[str]:
    """Name the modules that were imported from a folder, without test files, conftests and installed packages."""
    found = set()
    for name, module in list(sys.modules.items()):
        file = _file_of(module)
        if file is None or file in tests or name.rpartition(".")[2] == "conftest":
            continue
        path = Path(file)
        if folder in path.parents and "site-packages" not in path.parts:
            found.add(name)
    return sorted(found)


def _file_of(module: object) -> str | None:
    """Return the file of a module; a module may be any object with any attributes."""
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def _in_file(nodeid: str) -> str:
    """Return the part of a node id that names the test in its file.

    In pytest 8.3, the part before it depends on the hash seed if the file lies outside rootdir and several arguments
    select it.
    """
    return nodeid.partition("::")[2] or nodeid


def _lineage(path: str) -> Sequence[str]:
    """A file and every folder above it."""
    file = Path(path)
    return [str(file), *(str(folder) for folder in file.parents)]
