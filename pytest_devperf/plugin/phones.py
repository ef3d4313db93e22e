"""Several phones at once: with pytest-xdist every worker measures on a phone of its own.

A worker is a whole session on its phone, verdicts included. The controller chooses the phones, hears of the
workers' reports as pytest-xdist carries them, and keeps and sums up what all of them found.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Suite
from pytest_devperf.compare.policy import Policy
from pytest_devperf.errors import DevperfError, UsageError
from pytest_devperf.plugin.assemble import device_record
from pytest_devperf.plugin.baseline import Baselines
from pytest_devperf.plugin.campaign import Campaign
from pytest_devperf.plugin.chosen import Options
from pytest_devperf.plugin.cooler import bounds_words
from pytest_devperf.plugin.hosting import Hosted
from pytest_devperf.plugin.ledger import Entry
from pytest_devperf.plugin.ready import refuse_other_pin
from pytest_devperf.plugin.start import CaseStart
from pytest_devperf.record.codec import settings_of
from pytest_devperf.record.record import Record, Run
from pytest_devperf.report import as_text
from pytest_devperf.report.header import settings_line
from pytest_devperf.report.report import Report
from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.summary import chain_looks, summarise
from pytest_devperf.targets.device import Device

if TYPE_CHECKING:
    from pytest_devperf.plugin.place import Places

TARGET, UNIT, SEED, OUTPUT = "devperf_target", "devperf_unit", "devperf_seed", "devperf"
"""Keys of what the controller tells a worker, and of what it gets back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone:
    """A phone that one worker measures on."""

    spec: str
    """What the worker's target is."""
    unit: int
    """Which simulated unit it is; 1 for a real phone."""
    device: Device
    warning: str | None = None
    """What a user has to know about a simulated one."""


class SentCase(msgspec.Struct, kw_only=True):
    """What a worker found out about one case."""

    id: str
    suite: Suite
    policy: Policy
    logged: bool
    record: Record | None
    looks: list[Context]
    prerun: Context | None
    skip_reason: str | None


class Sent(msgspec.Struct, kw_only=True):
    """What a worker found out."""

    device: Device
    cases: list[SentCase]
    collected: list[str]
    """Ids of the cases that it collected, selected or not."""
    deselected: int
    notes: list[str]
    remarks: list[str]


class Stand:
    """A device that was measured elsewhere: facts alone."""

    def __init__(self, device: Device) -> None:
        self.device = device


class Controller(Campaign):
    """The hooks of the process that hands the cases out."""

    def __init__(self, config: pytest.Config, options: Options, places: Places, seed: int) -> None:
        super().__init__(config, options, places, seed)
        self._free: list[Phone] | None = None
        self._taken: dict[str, Phone] = {}
        self._lost: list[str] = []

    @cached_property
    def phones(self) -> list[Phone]:
        """One phone per worker, in the order in which adb lists them.

        Raises:
            pytest.UsageError: There are fewer phones than workers, or one cannot be used.
        """
        from xdist.workermanage import parse_tx_spec_config

        workers = len(parse_tx_spec_config(self.config))
        try:
            phones = (
                list(_simulated(self.options, workers))
                if _is_simulated(self.options)
                else _attached(self.options, workers)
            )
        except DevperfError as error:
            raise pytest.UsageError(str(error)) from None
        if len({phone.device.fingerprint for phone in phones}) < len(phones) and self.config.getvalue("dist") == "each":
            raise pytest.UsageError(
                "two of the phones count as one device, and --dist=each would measure every case twice on it: "
                "leave --devperf-identity=model out"
            )
        return phones

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Choose the phones, read the baselines and see that results can be kept, before a worker starts."""
        super().pytest_sessionstart()
        self.baselines = Baselines(
            self.config, self.options, self.places, devices=[phone.device for phone in self.phones]
        )
        self.baselines.read()
        self.keeper.check()
        try:
            refuse_other_pin(self.options, self.plan, self.baselines, [phone.device for phone in self.phones])
        except DevperfError as error:
            raise pytest.UsageError(str(error)) from None
        self._free = list(self.phones)

    def pytest_report_header(self) -> list[str]:
        """Name the phones, and say how they are measured."""
        runs = tuple(
            Run(
                taken_at="",
                devperf_version="",
                device=device_record(phone.device),
                settings=settings_of(self.plan),
                run_context=summarise([], prerun=None),
            )
            for phone in self.phones
        )
        warnings = dict.fromkeys(phone.warning for phone in self.phones if phone.warning is not None)
        header = as_text.header_lines(Report(runs=runs, messages=tuple(warnings)))
        plan = f"devperf plan: {settings_line(settings_of(self.plan))}"
        return [*header, plan, f"devperf waits: {bounds_words(self.plan)}"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - pytest-xdist's own type
        """Give a worker its phone; one that takes a crashed worker's place gets that one's."""
        assert self._free, "every worker has a phone"
        phone = self._free.pop(0)
        self._taken[node.gateway.id] = phone
        node.workerinput.update({TARGET: phone.spec, UNIT: phone.unit, SEED: self.seed})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ANN401 - pytest-xdist's own type
        """Take what a worker found; where it died its phone is free again."""
        phone = self._taken.pop(node.gateway.id, None)
        output = getattr(node, "workeroutput", None) or {}
        if phone is not None:
            assert self._free is not None
            self._free.append(phone)
        if OUTPUT in output:
            self._take(msgspec.msgpack.decode(output[OUTPUT], type=Sent))
        elif error and phone is not None:
            self._lost.append(phone.device.name)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After all workers: what is kept, and what fails the run."""
        with self.gate.watch():
            with self.keeper.unless_broken_off(self.ledger):
                result = yield
            for name in self._lost:
                # Its cases are gone with it: a run without them would be a worse baseline than the old one.
                self.ledger.join(_entry(_gap(name), Stand(self.phones[0].device), self, len(self.ledger.entries)))
            self._close(session)
        return result

    def _take(self, sent: Sent) -> None:
        self.collected.ids = {*(self.collected.ids or ()), *sent.collected}
        self.collected.deselected = max(self.collected.deselected, sent.deselected)
        for note in sent.notes:
            self.places.note(note)
        self.places.remarks += sent.remarks
        stand = Stand(sent.device)
        for case in sent.cases:
            self.ledger.join(_entry(case, stand, self, len(self.ledger.entries)))


class Worker(Campaign):
    """The hooks of a process that measures on one of several phones."""

    def __init__(self, config: pytest.Config, options: Options, places: Places, seed: int) -> None:
        super().__init__(config, options, places, seed)
        # The controller has seen that some phone has a baseline; cases of one without are new.
        self.baselines.lenient = True

    def report(self, entry: Entry) -> None:
        """Hand a case's reports to the controller, whenever its verdict is reached."""
        interactor = next(each for each in self.config.pluginmanager.get_plugins() if hasattr(each, "item_index"))
        before = interactor.item_index
        # pytest-xdist takes every report for one of the test that runs just now.
        interactor.item_index = entry.item.session.items.index(entry.item)
        try:
            if isinstance(entry, Hosted):
                self._send(entry, interactor)
            else:
                super().report(entry)
        finally:
            interactor.item_index = before

    def _send(self, entry: Entry, interactor: Any) -> None:  # noqa: ANN401 - pytest-xdist's own type
        """Send reports of an app's case: pytest-xdist's own way demands the id of a test."""
        for report in entry.reports:
            data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
            data |= {
                "item_index": interactor.item_index,
                "worker_id": interactor.workerid,
                "testrun_uid": interactor.testrunuid,
            }
            interactor.sendevent("testreport", data=data)

    def _close(self, session: pytest.Session) -> None:
        """Let go of the phone, and send what was found."""
        device = self.places.session_target().device
        self.places.release()
        sent = Sent(
            device=device,
            cases=[_sent(entry) for entry in self.ledger if entry.reports],
            collected=sorted(self.collected.ids or ()),
            deselected=self.collected.deselected,
            notes=self.places.notes,
            remarks=self.places.remarks,
        )
        session.config.workeroutput[OUTPUT] = msgspec.msgpack.encode(sent)  # type: ignore[attr-defined] # pytest-xdist's


def _sent(entry: Entry) -> SentCase:
    return SentCase(
        id=entry.case.id,
        suite=entry.case.suite,
        policy=entry.policy,
        logged=entry.logged,
        record=entry.record,
        looks=chain_looks(start.looks for start in entry.starts),
        prerun=next((start.prerun for start in entry.starts), None),
        skip_reason=entry.skip_reason,
    )


def _gap(name: str) -> SentCase:
    """A case that stands for all that a dead worker did not send."""
    return SentCase(
        id=f"worker of {name}",
        suite="quick",
        policy=Policy(),
        logged=False,
        record=None,
        looks=[],
        prerun=None,
        skip_reason=None,
    )


def _entry(sent: SentCase, stand: Any, controller: Controller, index: int) -> Entry:  # noqa: ANN401 - a device alone
    start = CaseStart(process=0, role="rounds", looks=sent.looks, prerun=sent.prerun, unsupported=sent.skip_reason)
    return Entry(
        index=index,
        item=None,  # type: ignore[arg-type] # its test lives in the worker
        nth=0,
        case=Case(id=sent.id, suite=sent.suite, plan=controller.plan),
        converge=False,
        early=False,
        policy=sent.policy,
        baseline=controller.baselines.of(sent.id, stand.device),
        target=stand,
        starts=[start],
        logged=sent.logged,
        record=sent.record,
        comparison=sent.record.comparison if sent.record is not None else None,
    )


def _is_simulated(options: Options) -> bool:
    return options.target.partition(":")[0] == "sim"


def _attached(options: Options, workers: int) -> list[Phone]:
    """Choose real phones: those that adb lists and that can be used."""
    from pytest_devperf.targets.android.adb import list_attached, make_client, serial_of_environment
    from pytest_devperf.targets.android.phone import AndroidTarget

    serial = options.target.partition(":")[2] or serial_of_environment()
    attached = list_attached(make_client(None))
    ready = [phone for phone in attached if phone.ready and (not serial or phone.serial == serial)]
    ready = [phone for phone in ready if not phone.emulator] or ready
    if len(ready) < workers:
        there = ", ".join(phone.words for phone in attached) or "none"
        raise UsageError(
            f"-n{workers} needs one phone per worker, and {len(ready)} can be used (attached: {there})",
            f"measure with -n{len(ready)}" if ready else "attach phones, and check that `adb devices` lists them",
        )
    identity = options.identity or "unit"
    return [
        Phone(spec=f"android:{each.serial}", unit=1, device=AndroidTarget(serial=each.serial, identity=identity).device)
        for each in ready[:workers]
    ]


def _simulated(options: Options, workers: int) -> Iterator[Phone]:
    """Make simulated phones known: each worker switches on its own unit of the family."""
    from pytest_devperf.simphone import AdbServer, parse_spec, simulated_phone
    from pytest_devperf.targets.android.phone import AndroidTarget

    personality, _ = parse_spec(options.target)
    with AdbServer() as server:
        for unit in range(1, workers + 1):
            with simulated_phone(personality, unit=unit, server=server) as phone:
                target = AndroidTarget(
                    serial=phone.serial, server_port=phone.server_port, identity=options.identity or "unit"
                )
                yield Phone(spec=options.target, unit=unit, device=target.device, warning=phone.warning)


def for_worker(options: Options, workerinput: dict[str, Any]) -> Options:
    """Give a worker's options its phone and the session's seed."""
    plan = {**options.plan_cli, "seed": workerinput[SEED]}
    return replace(options, target=workerinput[TARGET], plan_cli=plan)


def check(options: Options) -> None:
    """See that a session spread over workers measures on phones alone.

    Raises:
        pytest.UsageError: It would measure on this machine, or repeat or pair runs.
    """
    if options.target.partition(":")[0] not in {"android", "sim"}:
        raise pytest.UsageError(
            "pytest-xdist runs tests in parallel on this machine, and cases that run in parallel disturb each other: "
            "measure without -n, or with -n0; with --devperf-target=android every worker measures on its own phone"
        )
    if options.aa is not None or options.against is not None:
        raise pytest.UsageError("--devperf-aa and --devperf-against measure on one device: leave -n out")
