"""Run process starts: wait for the device to cool down, then run the starts of a batch on it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pytest_devperf.case.plan import Plan
from pytest_devperf.errors import DevperfError
from pytest_devperf.session.cases.edge import Display
from pytest_devperf.session.cases.found import StartFound
from pytest_devperf.session.devices.cooler import Cooler
from pytest_devperf.session.devices.targets import SessionTargets
from pytest_devperf.session.running.driven import Driven
from pytest_devperf.session.running.interpreters import Interpreters
from pytest_devperf.session.schedule import Batch
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.meters.bench import Tools


@dataclass(kw_only=True)
class Launchers:
    """Runs a batch: in fresh interpreters, or on a device that starts its own processes.

    Code that waits is created late: its clock may be that of a simulated phone, which is switched on for it.
    """

    targets: SessionTargets
    interpreters: Interpreters
    display: Display
    plan: Plan
    prefixes: Mapping[str, str]
    """Folders that differ between machines and runs, and their placeholders in a workload's hash."""
    use_anchor: bool = True
    _warned: set[str] = field(default_factory=set)

    @cached_property
    def tools(self) -> Tools:
        """The tools for measuring every case."""
        return Tools(
            clock=self.targets.clock,
            prefixes=self.prefixes,
            use_anchor=self.use_anchor,
            look=self.targets.sensors.look,
            on_round=self.display.round_done,
            old_code=self.interpreters.old.found if self.interpreters.old is not None else None,
        )

    @cached_property
    def cooler(self) -> Cooler:
        """Lets devices cool."""
        return Cooler(self.targets.clock, self.display.cooling)

    @cached_property
    def _driven(self) -> Driven:
        return Driven(
            tools=self.tools, cooler=self.cooler, seed=self.plan.seed, display=self.display, warn=self.warn_once
        )

    def rest(self, batch: Batch, rested: set[int]) -> None:
        """Wait before the first batch of a phase, if the phase requires it.

        Args:
            batch: The batch.
            rested: Phases that were already waited for.
        """
        request = batch.request
        if request.rest_s > 0 and request.phase not in rested:
            rested.add(request.phase)
            self.display.stage(f"waiting {request.rest_s:.0f} s before confirming", len(batch.members))
            self.targets.clock.sleep(request.rest_s)

    def run(self, batch: Batch) -> Generator[StartFound, None, None]:
        """Run a batch once its device has cooled down, and yield the result of each case."""
        self.display.stage(batch.words, len(batch.members))
        target, request = batch.target, batch.request
        try:
            counts = request.role == "counted"  # heat and clocks change no count
            waited = None if counts else self.cooler.before_pass(target, batch.members[0].state.case.plan)
            prerun = self.targets.prerun(target) if request.role == "rounds" and _lacks_prerun(batch) else None
        except DevperfError as error:
            for member in batch.members:
                yield StartFound(state=member.state, process=request.process, problem=error)
            return
        if is_this_machine(target):
            yield from self.interpreters.run(batch, prerun)
        else:
            yield from self._driven.run(batch, waited, prerun)

    def profile(self, batch: Batch, *, old: bool) -> Iterator[StartFound]:
        """Run a batch to look where its time goes, and yield the result of each case.

        Args:
            batch: One process start of one or more cases.
            old: Whether the old code runs it, which only this machine has.

        Raises:
            DevperfError: Nothing could be started.
        """
        if is_this_machine(batch.target):
            return self.interpreters.profile(batch, old=old)
        return self._driven.profile(batch)

    def warn_once(self, words: str | None) -> None:
        """Show a warning, unless there is none or it was shown before."""
        if words is not None and words not in self._warned:
            self._warned.add(words)
            self.display.announce(words)


def _lacks_prerun(batch: Batch) -> bool:
    """Return whether the idle device was not read for a case of a batch: one reading is kept of all its starts."""
    return any(all(start.prerun is None for start in member.state.starts) for member in batch.members)
