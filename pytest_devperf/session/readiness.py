"""Check the conditions for measuring: the state of the process, and phones pinned and cool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_devperf.errors import UsageError
from pytest_devperf.report.terminal.live import wait_words
from pytest_devperf.sensor.instrument import read_instrument
from pytest_devperf.session.devices.targets import AUTO, Noticing, Pinning, SessionTargets
from pytest_devperf.session.starts.device import is_phone

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.case.workload import Workload
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.record.record import Counting
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.session.devices.cooler import Cooler
    from pytest_devperf.session.kept.baselines import Baselines
    from pytest_devperf.session.options.settings import Settings
    from pytest_devperf.session.starts.start import CaseStart
    from pytest_devperf.targets.device import Device
    from pytest_devperf.targets.protocol import Target


def pin_as_baseline(target: Target, baselines: Baselines) -> None:
    """Pin the clocks of a target that can do so, if the baseline had them pinned."""
    if isinstance(target, Pinning):
        target.pin_as_baseline(pinned=baselines.pinned(target.device))


def open_named_phone(targets: SessionTargets, baselines: Baselines) -> None:
    """Open the phone that the user named, so that obstacles to measuring on it are reported first.

    Raises:
        DevperfError: It cannot be used as requested, or its clocks are not pinned as in every baseline.
    """
    target = targets.session_target()
    if not is_phone(target):
        return
    seen = target.look()
    # Heat passes while the phone is given time to cool; other reasons for unpinned clocks stay.
    if seen.pinned is False and not seen.throttled and baselines.pins(target.device) == {True}:
        why = "; ".join(target.notices if isinstance(target, Noticing) else ())
        raise UsageError(
            f"the baseline's clocks were held and {target.device.name}'s are not, so every case would be incomparable"
            f"{f' ({why})' if why else ''}: save a new baseline with --devperf-pin-clocks=off"
        )


def refuse_clocks(settings: Settings, plan: Plan, targets: SessionTargets, baselines: Baselines) -> None:
    """Refuse clocks that cannot be pinned as requested, or as in the baseline.

    Raises:
        UsageError: They cannot.
    """
    if settings.target == AUTO:
        return  # each case has its own device, which refuses it
    target = targets.session_target()
    refuse_unheld_clocks(target, plan)
    refuse_other_pin(settings, plan, baselines, [target.device])


def refuse_unheld_clocks(target: Target, plan: Plan) -> None:
    """Refuse `--devperf-pin-clocks=on` for a device whose clocks cannot be pinned.

    Raises:
        UsageError: The clocks of this device cannot be pinned.
    """
    if plan.pin_clocks == "on" and not isinstance(target, Pinning):
        raise UsageError(
            f"--devperf-pin-clocks=on: the clocks of {target.device.name} cannot be held",
            "measure on a phone, or with --devperf-pin-clocks=auto",
        )


def refuse_other_pin(settings: Settings, plan: Plan, baselines: Baselines, devices: Sequence[Device]) -> None:
    """Refuse a comparison with other pinning than in every baseline.

    Raises:
        UsageError: No case could be compared.
    """
    pins = {pin for device in devices for pin in baselines.pins(device)}
    if len(pins) != 1 or plan.pin_clocks == "auto" or pins == {plan.pin_clocks == "on"}:
        return
    held = "were held" if pins == {True} else "were not held"
    raise UsageError(
        f"--devperf-compare={settings.compare}: clocks {held} in the baseline of every case, so with "
        f"--devperf-pin-clocks={plan.pin_clocks} every case would be incomparable",
        "omit that option, or save a new baseline",
    )


def refuse_hopeless(settings: Settings, baselines: Baselines, targets: SessionTargets) -> None:
    """Refuse a comparison that the state of this process makes impossible for every case.

    Raises:
        UsageError: A tool traces this thread.
    """
    instrument = read_instrument()
    if instrument is None or "instrumented" in settings.accept or not baselines.known:
        return
    if is_phone(targets.session_target()) or (settings.target == AUTO and targets.phone() is not None):
        return  # no thread of this process is timed on a phone
    how = "with --no-cov" if "coverage" in instrument else "without a debugger or profiler"
    raise UsageError(
        f"--devperf-compare={settings.compare}: {instrument} traces this process, so every case would be "
        f"incomparable: measure {how}, or accept it with --devperf-accept=instrumented"
    )


def refuse_other_counting(settings: Settings, baselines: Baselines, counting: Counting | None) -> None:
    """Refuse a comparison of instructions alone if no case of the baseline was counted as they are counted here.

    Raises:
        UsageError: None was.
    """
    countings = baselines.countings()
    if not settings.counts_only or not countings:
        return
    counted = [each for each in countings if each is not None]
    if not counted:
        raise UsageError(
            f"--devperf-compare={settings.compare} has no instructions to compare with: save it with --devperf-count"
        )
    from pytest_devperf.compare.rule.counted import unlike_counting

    reasons = [unlike_counting(counting, each) for each in counted]
    if all(reasons):
        raise UsageError(f"--devperf-compare={settings.compare}: {reasons[0]}")


def note_wait(start: CaseStart, waited: Cooling | None) -> str | None:
    """Add to a start that the wait before it timed out or read no temperature; return the words."""
    words = wait_words(waited)
    if words is not None and start.looks:
        start.looks[0] = replace(start.looks[0], notes=(*start.looks[0].notes, words))
    return words


class ReadyPhones:
    """Phones that were pinned and cooled before their first case."""

    def __init__(self, settings: Settings, plan: Plan, targets: SessionTargets, cooler: Cooler) -> None:
        self._settings = settings
        self._plan = plan
        self._targets = targets
        self._cooler = cooler
        self._cooled: dict[int, Cooling | None] = {}
        self._preruns: dict[int, Context | None] = {}

    def waited(self, target: Target) -> Cooling | None:
        """Return the result of the wait for a phone to cool; None if there was none."""
        return self._cooled.get(id(target))

    def prerun(self, target: Target) -> Context | None:
        """Return the load of a phone before its first case; None if it is not known."""
        return self._preruns.get(id(target))

    def chooser(self, case: Case, baselines: Baselines) -> Callable[[Workload], Target]:
        """Return a function that chooses a case's device; a phone is pinned and cooled before its first case."""
        choose = self._targets.chooser(case)

        def choose_ready(workload: Workload) -> Target:
            target = choose(workload)
            refuse_unheld_clocks(target, case.plan)
            if is_phone(target):
                refuse_other_pin(self._settings, self._plan, baselines, [target.device])
            if is_phone(target) and id(target) not in self._cooled:
                pin_as_baseline(target, baselines)
                target.look()
                self._targets.note_state(target)
                self._cooled[id(target)] = self._cooler.before_pass(target, case.plan)
                self._preruns[id(target)] = self._targets.prerun(target)
            return target

        return choose_ready
