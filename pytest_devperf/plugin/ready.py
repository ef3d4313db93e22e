"""What has to be in order before anything is measured: the session's own state, and phones pinned and cool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.errors import DevperfError, UsageError
from pytest_devperf.plugin.kind import is_phone
from pytest_devperf.plugin.place import AUTO, Noticing, Pinning, Places
from pytest_devperf.plugin.selection import location_of
from pytest_devperf.sensor.instrument import read_instrument

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.case.workload import Workload
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.plugin.baseline import Baselines
    from pytest_devperf.plugin.chosen import Options
    from pytest_devperf.plugin.cooler import Cooler
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.device import Device
    from pytest_devperf.targets.protocol import Target


def only_looks(config: pytest.Config) -> bool:
    """Tell whether the session collects tests, or sets fixtures up, and runs none of them."""
    return bool(config.option.collectonly or getattr(config.option, "setuponly", False))


def settle_pin(target: Target, baselines: Baselines) -> None:
    """Tell a target that can hold its clocks whether the baseline had them held."""
    if isinstance(target, Pinning):
        target.pin_as_baseline(pinned=baselines.pinned(target.device))


def open_named_phone(places: Places, baselines: Baselines) -> None:
    """Open the phone that was named: what stands in its way is said before anything is measured.

    Raises:
        pytest.UsageError: It cannot be used as asked, or it does not hold its clocks as every baseline has them held.
    """
    target = places.session_target()
    if not is_phone(target):
        return
    try:
        seen = target.look()
    except DevperfError as error:
        raise pytest.UsageError(str(error)) from None
    # Heat passes while the phone is given time to cool; whatever else keeps its clocks free does not.
    if seen.pinned is False and not seen.throttled and baselines.pins(target.device) == {True}:
        why = "; ".join(target.notices if isinstance(target, Noticing) else ())
        raise pytest.UsageError(
            f"the baseline's clocks were held and {target.device.name}'s are not, so every case would be incomparable"
            f"{f' ({why})' if why else ''}: save a new baseline with --devperf-pin-clocks=off"
        )


def refuse_unheld_clocks(target: Target, plan: Plan) -> None:
    """Refuse `--devperf-pin-clocks=on` for a device whose clocks nobody can hold.

    Raises:
        UsageError: It is one.
    """
    if plan.pin_clocks == "on" and not isinstance(target, Pinning):
        raise UsageError(
            f"--devperf-pin-clocks=on: the clocks of {target.device.name} cannot be held",
            "measure on a phone, or with --devperf-pin-clocks=auto",
        )


def refuse_other_pin(options: Options, plan: Plan, baselines: Baselines, devices: Sequence[Device]) -> None:
    """Refuse a comparison whose clocks are to be held otherwise than in every baseline.

    Raises:
        UsageError: No case could be compared.
    """
    pins = {pin for device in devices for pin in baselines.pins(device)}
    if len(pins) != 1 or plan.pin_clocks == "auto" or pins == {plan.pin_clocks == "on"}:
        return
    held = "were held" if pins == {True} else "were not held"
    raise UsageError(
        f"--devperf-compare={options.compare}: clocks {held} in the baseline of every case, so with "
        f"--devperf-pin-clocks={plan.pin_clocks} every case would be incomparable",
        "leave that option out, or save a new baseline",
    )


def refuse_hopeless(options: Options, baselines: Baselines, places: Places) -> None:
    """Refuse a comparison on this machine that this process's own state forbids for every case.

    Raises:
        pytest.UsageError: Something traces this thread.
    """
    instrument = read_instrument()
    if instrument is None or "instrumented" in options.accept or not baselines.known:
        return
    if is_phone(places.session_target()) or (options.target == AUTO and places.phone() is not None):
        return  # no thread of this process is timed on a phone
    how = "with --no-cov" if "coverage" in instrument else "without a debugger or profiler"
    raise pytest.UsageError(
        f"--devperf-compare={options.compare}: {instrument} traces this process, so every case would be "
        f"incomparable: measure {how}, or accept it with --devperf-accept=instrumented"
    )


def refuse_twins(items: Sequence[pytest.Item], cases: Sequence[Case]) -> None:
    """Refuse two tests under one id, which would be one another's baseline.

    Raises:
        pytest.UsageError: There are such.
    """
    seen: dict[str, pytest.Item] = {}
    for item, case in zip(items, cases, strict=True):
        other = seen.setdefault(case.id, item)
        if (other.path, other.nodeid, other.location) != (item.path, item.nodeid, item.location):
            raise pytest.UsageError(
                f"{_named(item)} and {_named(other)} are both called {case.id!r}: "
                "give each its own @pytest.mark.devperf(id=...)"
            )


def _named(item: pytest.Item) -> str:
    """Name a test by its file, line and names: two tests may have one node id."""
    line = item.location[1]
    return f"{item.path}{'' if line is None else f':{line + 1}'}::{location_of(item).names}"


class ReadyPhones:
    """Phones that were pinned and cooled before their first case."""

    def __init__(self, options: Options, plan: Plan, places: Places, cooler: Cooler) -> None:
        self._options = options
        self._plan = plan
        self._places = places
        self._cooler = cooler
        self._cooled: dict[int, Cooling | None] = {}
        self._preruns: dict[int, Context | None] = {}

    def waited(self, target: Target) -> Cooling | None:
        """Tell how the wait for a phone to cool ended; None where there was none."""
        return self._cooled.get(id(target))

    def prerun(self, target: Target) -> Context | None:
        """Hand over what a phone was busy with before its first case; None if that is not known."""
        return self._preruns.get(id(target))

    def chooser(self, case: Case, baselines: Baselines) -> Callable[[Workload], Target]:
        """Choose a case's device; a phone is pinned and cool before the first case on it."""
        choose = self._places.chooser(case)

        def choose_ready(workload: Workload) -> Target:
            target = choose(workload)
            refuse_unheld_clocks(target, case.plan)
            if is_phone(target):
                refuse_other_pin(self._options, self._plan, baselines, [target.device])
            if is_phone(target) and id(target) not in self._cooled:
                settle_pin(target, baselines)
                target.look()
                self._places.note_state(target)
                self._cooled[id(target)] = self._cooler.before_pass(target, case.plan)
                self._preruns[id(target)] = self._places.prerun(target)
            return target

        return choose_ready
