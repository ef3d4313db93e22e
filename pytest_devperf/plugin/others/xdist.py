"""Several phones at once: with pytest-xdist, each worker measures on its own phone.

A worker is a complete session on its phone, verdicts included. The controller chooses the phones, receives the workers'
reports through pytest-xdist, and combines and saves their results.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec
import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.plugin.calls import usage_errors
from pytest_devperf.plugin.collection import CollectionWatch
from pytest_devperf.plugin.reports import RanTest
from pytest_devperf.plugin.session import Here, send_to_pytest
from pytest_devperf.plugin.terminal import Screen
from pytest_devperf.record.codec import settings_of
from pytest_devperf.record.rows import plain_rows, read_rows
from pytest_devperf.report.header import settings_line
from pytest_devperf.report.report import Report
from pytest_devperf.session.devices.cooler import bounds_words
from pytest_devperf.session.devices.describe import run_before
from pytest_devperf.session.devices.phones import Phone, find_phones
from pytest_devperf.session.kept.sent import Sent, lost_worker, receive_case, send_case
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.readiness import refuse_other_pin
from pytest_devperf.session.session import Session
from pytest_devperf.targets.device import Device

TARGET, UNIT, SEED, OUTPUT = "devperf_target", "devperf_unit", "devperf_seed", "devperf"
"""Keys of the messages between the controller and a worker."""


class Controller:
    """The hooks of the controller, which distributes the cases to workers and combines their results."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._free: list[Phone] | None = None
        self._taken: dict[str, Phone] = {}
        self._lost: list[str] = []
        self._session: Session | None = None
        self._watch: CollectionWatch | None = None

    @cached_property
    def phones(self) -> list[Phone]:
        """One phone per worker, in the order in which adb lists them.

        Raises:
            DevperfError: There are fewer phones than workers, or one cannot be used.
        """
        from xdist.workermanage import parse_tx_spec_config

        phones = list(find_phones(self._settings, len(parse_tx_spec_config(self._config))))
        if (
            len({phone.device.fingerprint for phone in phones}) < len(phones)
            and self._config.getvalue("dist") == "each"
        ):
            raise UsageError(
                "two of the phones count as one device, and --dist=each would measure every case twice on it: "
                "omit --devperf-identity=model"
            )
        return phones

    def devices(self) -> list[Device]:
        """Return the devices of all workers."""
        return [phone.device for phone in self.phones]

    def take_part(self, session: Session, watch: CollectionWatch) -> None:
        """Set the session that collects the workers' results."""
        self._session, self._watch = session, watch

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Choose the phones, read the baselines and check that results can be saved, before a worker starts."""
        assert self._session is not None
        with usage_errors():
            self._session.baselines.read()
            self._session.results.check()
            refuse_other_pin(self._settings, self._session.plan, self._session.baselines, self.devices())
            self._free = list(self.phones)

    def header(self, session: Session, screen: Screen, *, looks_only: bool) -> list[str]:  # noqa: ARG002 - as here
        """Describe the phones and how they are measured."""
        runs = tuple(run_before(phone.device, None, session.plan) for phone in self.phones)
        warnings = dict.fromkeys(phone.warning for phone in self.phones if phone.warning is not None)
        header = screen.header(Report(runs=runs, messages=tuple(warnings)))
        return [*header, f"devperf plan: {settings_line(settings_of(session.plan))}; {bounds_words(session.plan)}"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - pytest-xdist's own type
        """Assign a phone to a worker; a worker that replaces a crashed one gets its phone."""
        assert self._free, "every worker has a phone"
        assert self._session is not None
        phone = self._free.pop(0)
        self._taken[node.gateway.id] = phone
        node.workerinput.update({TARGET: phone.spec, UNIT: phone.unit, SEED: self._session.plan.seed})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ANN401 - pytest-xdist's own type
        """Keep the results of a worker; if it died, its phone is free again."""
        phone = self._taken.pop(node.gateway.id, None)
        output = getattr(node, "workeroutput", None) or {}
        if phone is not None:
            assert self._free is not None
            self._free.append(phone)
        if OUTPUT in output:
            self._take(msgspec.msgpack.decode(output[OUTPUT], type=Sent, dec_hook=read_rows))
        elif error and phone is not None:
            self._lost.append(phone.device.name)

    def _take(self, sent: Sent) -> None:
        session, watch = self._session, self._watch
        assert session is not None
        assert watch is not None
        watch.ids = {*(watch.ids or ()), *sent.collected}
        watch.deselected = max(watch.deselected, sent.deselected)
        for note in sent.notes:
            session.targets.note(note)
        session.targets.remarks += sent.remarks
        for case in sent.cases:
            receive_case(case, sent.device, session.states, session.plan, session.baselines.of)

    def close(self, session: Session, watch: CollectionWatch) -> int:
        """End the session after all workers: save their results, and count the gates that were not met."""
        for name in self._lost:
            # Its cases are missing: a run without them would be a worse baseline than the old one.
            device = self.phones[0].device
            receive_case(lost_worker(name), device, session.states, session.plan, session.baselines.of)
        return session.close(watch.collected())


class Worker(Here):
    """Sends the results of a session on one of several phones to the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def close(self, session: Session, watch: CollectionWatch) -> int:
        """Release the phone, and send the results."""
        device = session.targets.session_target().device
        session.targets.release()
        sent = Sent(
            device=device,
            cases=[send_case(state) for state in session.states if state.outcome is not None],
            collected=sorted(watch.ids or ()),
            deselected=watch.deselected,
            notes=session.targets.notes,
            remarks=session.targets.remarks,
        )
        self._config.workeroutput[OUTPUT] = msgspec.msgpack.encode(sent, enc_hook=plain_rows)  # type: ignore[attr-defined] # pytest-xdist's
        return 0


def send_to_controller(test: RanTest) -> None:
    """Send the reports of a test to the controller when its verdict is known."""
    config = test.item.config
    interactor = next(each for each in config.pluginmanager.get_plugins() if hasattr(each, "item_index"))
    before = interactor.item_index
    # pytest-xdist assigns every report to the test that is running.
    interactor.item_index = test.item.session.items.index(test.item)
    try:
        if test.nodeid == test.item.nodeid:
            send_to_pytest(test)
        else:
            _send_app_case(test, config, interactor)
    finally:
        interactor.item_index = before


def _send_app_case(test: RanTest, config: pytest.Config, interactor: Any) -> None:  # noqa: ANN401 - pytest-xdist's
    """Send reports of an app's case directly: pytest-xdist's own function needs the id of a test."""
    for report in test.reports:
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        data |= {
            "item_index": interactor.item_index,
            "worker_id": interactor.workerid,
            "testrun_uid": interactor.testrunuid,
        }
        interactor.sendevent("testreport", data=data)


def for_worker(settings: Settings, workerinput: dict[str, Any]) -> Settings:
    """Apply the worker's phone and the session's seed to its settings."""
    plan = {**settings.plan_cli, "seed": workerinput[SEED]}
    return replace(settings, target=workerinput[TARGET], plan_cli=plan)


def check(settings: Settings) -> None:
    """Check that a session spread over workers measures only on phones.

    Raises:
        UsageError: It would measure on this machine, or repeat or pair runs.
    """
    if settings.target.partition(":")[0] not in {"android", "sim"}:
        raise UsageError(
            "pytest-xdist runs tests in parallel on this machine, and cases that run in parallel disturb each other: "
            "measure without -n, or with -n0; with --devperf-target=android every worker measures on its own phone"
        )
    if settings.resume:
        raise UsageError("--devperf-resume goes on with a session on one device", "leave -n out, or measure anew")
    if settings.aa is not None or settings.against is not None:
        raise UsageError("--devperf-aa and --devperf-against measure on one device: omit -n")
