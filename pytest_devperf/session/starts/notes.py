"""Record the results of one process start as it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.case import Case
from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import (
    FINGERPRINT_DIGITS,
    describe_inputs,
    digest_inputs,
    fingerprint,
    named_inputs,
)
from pytest_devperf.case.workload import Call, Command, Model, Workload
from pytest_devperf.errors import CaseError
from pytest_devperf.measure.round import StartResult
from pytest_devperf.metric import (
    BYTES_PER_MIB,
    EXECUTE,
    LOAD,
    Better,
    Metric,
    energy_metric,
    memory_metric,
    start_metric,
)
from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.energy import energy_mj
from pytest_devperf.sensor.instrument import read_instrument
from pytest_devperf.session.starts.device import is_phone, is_this_machine
from pytest_devperf.session.starts.start import CaseStart, Role, ScalarValues, Timed
from pytest_devperf.targets.protocol import Describing, Memory, Target

if TYPE_CHECKING:
    from pytest_devperf.targets.survey import Survey


def _is_countable(workload: Workload, target: Target) -> bool:
    """Return whether the instructions of a workload can be counted: what measures itself decides how much it does."""
    if not is_this_machine(target):
        return False
    return isinstance(workload, (Call, Model)) or (isinstance(workload, Command) and workload.is_timed)


class StartNotes:
    """Writes a `CaseStart`: the device, the workloads, and their measurements."""

    def __init__(
        self,
        case: Case,
        process: int,
        role: Role,
        prefixes: Mapping[str, str],
        look: Callable[[Target], Context],
    ) -> None:
        self.start = CaseStart(process=process, role=role)
        self.target: Target | None = None
        """The device on which this case runs; None before its first workload."""
        self._case = case
        self._prefixes = prefixes
        self._look = look

    # -- the device and the work ------------------------------------------------------------------

    def settle(self, target: Target) -> None:
        """Record the device of this case, and read its sensors."""
        self.target = target
        self.start.device = target.device
        if not is_phone(target):  # a phone times programs itself; a plugin's device may time calls in this process
            self.start.instrumented = read_instrument()
        self.look()

    def look(self) -> None:
        """Read the device's sensors, those of plugins included."""
        assert self.target is not None
        self.start.looks.append(self._look(self.target))

    def look_between(self) -> Context:
        """Read the device's own sensors between two rounds: those of plugins may be slow and disturb the next round."""
        assert self.target is not None
        seen = self.target.look()
        self.start.looks.append(seen)
        return seen

    def enter(self, workload: Workload, name: str, target: Target) -> None:
        """Record a workload and its device.

        Raises:
            CaseError: The case began on another device.
        """
        if self.target is None:
            self.start.kind = type(workload).__name__.lower()
            self.settle(target)
        elif target.device != self.target.device:
            raise CaseError(
                f"{self._case.id}: one test cannot measure on {self.target.device.name} and on {target.device.name}",
                "split it in two, or pin it with @pytest.mark.devperf(target=...)",
            )
        self.start.solo = self.start.solo or self.wants_memory(workload)
        self.start.countable = self.start.countable or _is_countable(workload, target)
        digest = Digest(self._prefixes)
        for key, known in digest_inputs(workload, digest).items():
            self.start.digests[f"{name}: {key}"] = known
        if not isinstance(workload, Model):
            self.add_work(name, workload, digest)

    def wants_memory(self, workload: Workload) -> bool:
        """Return whether the memory of a workload is measured."""
        return self._case.memory or not isinstance(workload, Call)

    def add_work(self, name: str, workload: Workload, digest: Digest | None = None) -> None:
        """Record the hash of a whole workload, the inputs in a model's survey included."""
        digest = digest or Digest(self._prefixes)
        facts = self.start.inputs if isinstance(workload, Model) else None
        self.start.works[name] = fingerprint(workload, digest, facts={}, input_facts=facts)
        self.start.ways[name] = fingerprint(workload, digest, facts={}, with_inputs=False)
        if isinstance(workload, Call):
            self.start.inputs.update(describe_inputs(named_inputs(workload), digest))

    def add_survey(self, survey: Survey) -> None:
        """Record a target's survey of a model.

        Raises:
            CaseError: The test has to pass something before a method can be executed.
            Unsupported: The model has no method that can be executed.
        """
        self.start.skipped_methods.update({**survey.skipped, **survey.wanting})
        self.start.inputs.update({name: dict(facts) for name, facts in survey.inputs.items()})
        self.start.model_sha256 = survey.model_sha256
        self.start.env.update(survey.env)
        for name, facts in survey.inputs.items():
            self.start.digests[f"{EXECUTE}: input {name}"] = str(facts.get("sha256"))
        survey.require_method()

    def add_software(self, runner: object) -> None:
        """Record the software that runs a workload, if only its runner knows it."""
        if isinstance(runner, Describing):
            self.start.env.update(runner.env)

    def add_facts(self, facts: Mapping[str, Any]) -> None:
        """Record facts about the work done; they must be the same in every start."""
        from pytest_devperf.session.starts.facts import plain_fact, readable

        for name, value in facts.items():
            fact = self.start.facts[readable(name)] = plain_fact(value, Digest(self._prefixes))
            self.start.digests[f"facts: fact {name!r}"] = Digest().of(fact).hex()[:FINGERPRINT_DIGITS]

    def describe(self, group: object, extra_info: Mapping[str, Any]) -> None:
        """Record a test's description of its measurement, which need not be the same in every start."""
        from pytest_devperf.session.starts.facts import plain_fact, readable

        digest = Digest(self._prefixes)
        self.start.group = None if group is None else readable(str(group))
        self.start.extra_info = {readable(str(name)): plain_fact(value, digest) for name, value in extra_info.items()}

    # -- measurements -----------------------------------------------------------------------------

    def claim(self, name: str) -> None:
        """Refuse a metric that was measured before.

        Raises:
            CaseError: It was measured before.
        """
        if self.has(name) or any(timed.metric.name == name for timed in self.start.timed):
            raise CaseError(
                f"{self._case.id}: metric {name!r} is measured twice in one test",
                "use devperf.measure(name, ...) for a second measurement",
            )

    def has(self, name: str) -> bool:
        """Return whether a metric has single values."""
        return any(each.metric.name == name for each in self.start.scalars)

    def add_result(self, metric: Metric, start_result: StartResult) -> None:
        """Record the rounds of a metric, and the values that a tool printed in them."""
        self.start.timed.append(Timed(metric=metric, start_result=start_result))
        for taken in start_result.rounds:
            for name, (value, unit, better) in taken.values.items():
                self._add_printed(name, value, unit=unit, better="higher" if better == "higher" else "lower")

    def _add_printed(self, name: str, value: float, *, unit: str, better: Better) -> None:
        if name == LOAD:
            self._join(ScalarValues(metric=start_metric(LOAD), values=[value]))
        elif unit == "B":
            self._join(ScalarValues(metric=memory_metric(name), values=[value / BYTES_PER_MIB]))
        else:
            self.record(name, value, unit=unit, better=better)

    def record(self, name: str, value: float, *, unit: str, better: Better) -> None:
        """Record a value that the test or a tool measured.

        Raises:
            CaseError: The metric was measured before, in rounds or in another unit.
        """
        metric = Metric(name=name, unit=unit, better=better, kind="recorded")
        known = next((each for each in self.start.scalars if each.metric.name == name), None)
        if known is None:
            self.claim(name)
        elif known.metric != metric:
            raise CaseError(
                f"{self._case.id}: {name!r} was recorded in two units or directions", "use one unit and one direction"
            )
        self._join(ScalarValues(metric=metric, values=[value]))

    def _join(self, scalars: ScalarValues) -> None:
        known = next((each for each in self.start.scalars if each.metric.name == scalars.metric.name), None)
        if known is None:
            self.start.scalars.append(scalars)
        else:
            known.values.extend(scalars.values)

    def add_loads(self, loads_ns: Sequence[int]) -> None:
        """Record the loads of this start."""
        from pytest_devperf.session.starts.loads import load_scalars

        self.start.scalars.extend(load_scalars(loads_ns))

    def add_memory(self, memory: Memory | None) -> None:
        """Record the memory measured in this start."""
        from pytest_devperf.session.starts.loads import memory_scalars

        self.start.scalars.extend(memory_scalars(memory))
        if memory is not None and memory.unseen_children:
            self.start.unseen_children = True

    def finish(self) -> None:
        """Read the sensors for the last time; record the energy per iteration if there was only one workload."""
        self.look()
        if len(self.start.timed) != 1:
            return
        drawn_mj = energy_mj(self.start.looks[0], self.start.looks[-1])
        start_result = self.start.timed[0].start_result
        iterations = sum(len(taken.samples_ns) for taken in start_result.rounds) * start_result.inner_loops
        if drawn_mj is not None and iterations:
            self.start.scalars.append(ScalarValues(metric=energy_metric(), values=[drawn_mj / iterations]))
