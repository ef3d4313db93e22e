"""Measures the workloads of one case in one process start.

The meter does not know pytest: it is told what to do by `Orders`, brings workloads up on a target, and
writes down what came of it in a `CaseStart`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import isawaitable
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
from pytest_devperf.case.plan import MIN_ITERATIONS
from pytest_devperf.case.workload import App, Call, Command, Model, Workload
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.measure.loop import Around, measure_start
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.metric import (
    BYTES_PER_MIB,
    EXECUTE,
    LATENCY,
    LOAD,
    Better,
    Metric,
    energy_metric,
    memory_metric,
    start_metric,
    time_metric,
)
from pytest_devperf.plugin.fact import plain_fact, readable
from pytest_devperf.plugin.kind import is_phone, is_this_machine, rest_s
from pytest_devperf.plugin.loaded import LOAD_CYCLES, Loaded, load_values, memory_values
from pytest_devperf.plugin.start import CaseStart, Orders, ScalarValues, Timed
from pytest_devperf.sensor.energy import energy_mj
from pytest_devperf.sensor.instrument import read_instrument
from pytest_devperf.targets.awaited import AnyRunner, run_now, run_timed
from pytest_devperf.targets.protocol import Answering, Clock, Describing, Memory, Runner, Surveying, Target
from pytest_devperf.targets.survey import Survey

if TYPE_CHECKING:
    from pytest_devperf.plugin.hosting import Wish
    from pytest_devperf.targets.app.wire import CaseReport

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

OnRound = Callable[[Round], None]
TargetFor = Callable[[Workload], Target]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A workload that was timed, and the metric it was timed as."""

    metric: Metric
    workload: Workload
    old: Workload | None = None
    """What it was measured against, in turns."""


class Meter:
    """Measures what a test hands it, in one process start."""

    def __init__(  # noqa: PLR0913 - what it measures, and whom it tells; each has one meaning
        self,
        *,
        case: Case,
        orders: Orders,
        target_for: TargetFor,
        clock: Clock,
        prefixes: Mapping[str, str],
        use_anchor: bool = True,
        on_round: OnRound | None = None,
        cool_again: Callable[[Target], bool] | None = None,
    ) -> None:
        self.case = case
        self.orders = orders
        self.start = CaseStart(process=orders.process, role=orders.role)
        self.probes: list[Probe] = []
        self._target_for = target_for
        self._target: Target | None = None
        self._clock = clock
        self._prefixes = prefixes
        self._use_anchor = use_anchor
        self._report_round = on_round
        self._cool_again = cool_again
        self._loaded: Loaded | None = None
        self._running: str | None = None
        """What is being measured."""
        self._broken: str | None = None
        """How a measurement ended that was not brought to its end."""
        self.wish: Wish | None = None
        """What is asked of an app's launch beside the plan; None: this session measures no apps."""
        self.app_measured: App | None = None
        self.hosted: list[CaseReport] = []
        """What an app reported."""

    @property
    def target(self) -> Target | None:
        """The device this case turned out to run on."""
        return self._target

    # -- what a test asks for -------------------------------------------------------------------

    def time(self, name: str, call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
        """Time a call in rounds and hand back the result of its first, unrecorded call."""
        with self._alone(name):
            call = self._prepared(call)
            target = self._enter(call, name)
            with target.start(call, self.orders.process) as runner:
                result = runner.result() if isinstance(runner, Answering) else None
                with self._unbroken(name):
                    run_now(self._spend(runner, time_metric(name), call))
            return result

    async def time_awaited(self, name: str, call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
        """Time a coroutine function, or an asynchronous stream, inside the running loop."""
        from pytest_devperf.targets.host.call import AwaitedCallRunner

        with self._alone(name):
            call = self._prepared(call)
            self._enter(call, name)
            async with AwaitedCallRunner(call, clock=self._clock) as runner:
                result = runner.result()
                with self._unbroken(name):
                    await self._spend(runner, time_metric(name), call)
            return result

    def load(self, factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Bring an object up; in the starts that take loads, time it and begin the memory pass."""
        if self._loaded is not None:
            raise CaseError(
                f"{self.case.id}: devperf.load was called twice in one test", "load both objects in one function"
            )
        target = self._enter(Call(function=factory, args=args, kwargs=kwargs), LOAD)
        if not is_this_machine(target):
            raise Unsupported(f"devperf.load runs on this machine, not on {target.device.name}")
        self.start.solo = True
        self._loaded = Loaded(factory, args, kwargs, clock=self._clock, taken=self._takes_few)
        return self._loaded.first()

    def model(self, model: Model) -> Any:  # noqa: ANN401 - outputs by name
        """Time a model's methods alone; in the starts that take loads, its load and memory too."""
        target = self._enter(model, EXECUTE)
        survey = target.survey(model) if isinstance(target, Surveying) else Survey()
        self.note_survey(survey)
        self.start.env["asked_ep"] = ",".join(model.providers) if model.providers else None
        self._note_work(EXECUTE, model, Digest(self._prefixes))
        outputs = None
        for method in survey.methods:
            outputs = self.method(target, replace(model, method=method))
        return outputs

    def method(self, target: Target, model: Model) -> Any:  # noqa: ANN401 - outputs by name
        """Time one method of a model."""
        metric = time_metric(f"{EXECUTE}.{model.method}")
        self._new(metric.name)
        outputs = None
        if self._takes_rounds:
            with target.start(model, self.orders.process) as runner:
                run_now(self._spend(runner, metric, model))
                outputs = runner.result() if isinstance(runner, Answering) else None
        if self._takes_few and not any(scalars.metric.name == LOAD for scalars in self.start.scalars):
            # The first method's: the file is loaded once, whichever method runs then.
            outputs = self._cycle(target, model, outputs)
        elif outputs is None:
            with target.start(model, self.orders.process) as runner:
                outputs = self._outputs_of(runner)
        return outputs

    def _outputs_of(self, runner: Runner) -> Any:  # noqa: ANN401 - outputs by name
        """Run a model once, unrecorded."""
        runner.run(1, 1)
        return runner.result() if isinstance(runner, Answering) else None

    def command(self, command: Command) -> None:
        """Run a program that measures itself, once per round."""
        target = self._enter(command, LATENCY)
        self.start.timed_whole = command.is_timed
        with target.start(command, self.orders.process) as runner:
            run_now(self._spend(runner, time_metric(LATENCY), command))
        if self._takes_few:
            with target.start(command, self.orders.process) as runner:
                self._keep_memory(runner.memory(self.case.plan.iterations))

    def app(self, app: App) -> tuple[str, ...]:
        """Launch an app that hosts its own cases, and take its reports; returns their names."""
        from pytest_devperf.plugin.hosting import reports_of

        if self.app_measured is not None:
            raise CaseError(f"{self.case.id}: devperf.app was called twice in one test", "use one test per app")
        self._new(LATENCY)
        target = self._enter(app, LATENCY)
        if self.wish is None:
            raise Unsupported(
                f"app {app.id} hosts its own cases, which cannot be repeated or measured in turns",
                "use --devperf-save and --devperf-compare",
            )
        self.app_measured = app
        start_plan = self.orders.start_plan(LATENCY)
        if app.no_launch:  # nobody starts it by hand again and again
            start_plan = replace(start_plan, rounds=start_plan.total_rounds)
        for report in reports_of(target, app, start_plan, self.case.plan, self.wish):
            self.hosted.append(report)
        if not self.hosted:
            raise CaseError(f"{app.id} ended without reporting a case", "see docs/wire.md for what it has to post")
        return tuple(report.case for report in self.hosted)

    def state(self, facts: Mapping[str, Any]) -> None:
        """Write down facts of the work done; they must be the same in every start."""
        for name, value in facts.items():
            fact = self.start.facts[readable(name)] = plain_fact(value, Digest(self._prefixes))
            self.start.digests[f"facts: fact {name!r}"] = Digest().of(fact).hex()[:FINGERPRINT_DIGITS]

    def record(self, name: str, value: float, *, unit: str, better: Better) -> None:
        """Keep a value that the test found out itself."""
        metric = Metric(name=name, unit=unit, better=better, kind="recorded")
        known = next((scalars for scalars in self.start.scalars if scalars.metric.name == name), None)
        if known is None:
            self._new(name)
            self.start.scalars.append(ScalarValues(metric=metric, values=[value]))
        elif known.metric != metric:
            raise CaseError(
                f"{self.case.id}: {name!r} was recorded in two units or directions", "use one unit and one direction"
            )
        else:
            known.values.append(value)

    def replay(self, probe: Probe, target: Target) -> None:
        """Measure a known workload again, on a target that starts processes of its own."""
        self._target = target
        if probe.old is not None:
            from pytest_devperf.plugin.duel import fight

            fight(self, probe.metric.name, probe.old, probe.workload)
            return
        if isinstance(probe.workload, Model):
            self.method(target, probe.workload)
            return
        if self.orders.role == "solo" and not self._wants_memory(probe.workload):
            return
        with target.start(probe.workload, self.orders.process) as runner:
            run_now(self._spend(runner, probe.metric, probe.workload))

    def finish(self) -> None:
        """Take what can only be taken when the test's own references are gone."""
        if self._broken is not None:
            raise CaseError(
                f"{self.case.id}: {self._broken}, which the test caught",
                "let it through, or measure a workload that does not raise",
            )
        if self._loaded is not None and self._takes_few:
            self._keep_memory(self._loaded.finish())
            self._keep_loads(self._loaded.loads_ns)
        if self._target is None and self.start.scalars:
            # Nothing but values that the test found out itself: it found them where calls run.
            self._settle(self._target_for(Call(function=self.finish)))
        if self._target is not None:
            self.start.looks.append(self._target.look())
            self._keep_energy()

    # -- two workloads in turns -------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        """What waits between rounds."""
        return self._clock

    def enter_pair(self, new: Workload, name: str) -> Target:
        """Choose the device of two workloads; neither load nor memory is taken of them."""
        target = self._enter(new, name)
        self.start.solo = False
        return target

    def remember(self, name: str, new: Workload, old: Workload) -> None:
        """Note what is measured in turns, so that it can be measured again."""
        self._new(name)
        self.probes.append(Probe(metric=time_metric(name), workload=new, old=old))

    def around_rounds(self) -> Around:
        """What happens around each round: the rest before it, who hears of it, whether it is taken again."""
        return Around(
            rest_s=rest_s(self.case.plan, self._target),
            use_anchor=self._use_anchor,
            on_round=self._on_round,
            redo=self._redo if is_phone(self._target) else None,
        )

    # -- how ------------------------------------------------------------------------------------

    @property
    def _takes_rounds(self) -> bool:
        return self.orders.role != "solo"

    @property
    def _takes_few(self) -> bool:
        return self.orders.role != "rounds"

    def _wants_memory(self, workload: Workload) -> bool:
        return self.case.memory or not isinstance(workload, Call)

    def _enter(self, workload: Workload, name: str) -> Target:
        """Choose the device, and write down what the workload is."""
        target = self._target_for(workload)
        if self._target is None:
            self.start.kind = type(workload).__name__.lower()
            self._settle(target)
        elif target.device != self._target.device:
            raise CaseError(
                f"{self.case.id}: one test cannot measure on {self._target.device.name} and on {target.device.name}",
                "split it in two, or pin it with @pytest.mark.devperf(target=...)",
            )
        self.start.solo = self.start.solo or self._wants_memory(workload)
        digest = Digest(self._prefixes)
        for key, known in digest_inputs(workload, digest).items():
            self.start.digests[f"{name}: {key}"] = known
        if not isinstance(workload, Model):
            self._note_work(name, workload, digest)
        return target

    def _settle(self, target: Target) -> None:
        """Take a device as this case's, and look at it."""
        self._target = target
        self.start.device = target.device
        if not is_phone(target):  # a phone's programs are timed there; a plugin's device may time calls in this process
            self.start.instrumented = read_instrument()
        self.start.looks.append(target.look())

    def _note_work(self, name: str, workload: Workload, digest: Digest) -> None:
        """Write down the hash of a whole workload, a model's surveyed inputs included."""
        facts = self.start.inputs if isinstance(workload, Model) else None
        self.start.works[name] = fingerprint(workload, digest, facts={}, input_facts=facts)
        self.start.ways[name] = fingerprint(workload, digest, facts={}, with_inputs=False)
        if isinstance(workload, Call):
            self.start.inputs.update(describe_inputs(named_inputs(workload), digest))

    def _new(self, name: str) -> None:
        taken = {timed.metric.name for timed in self.start.timed} | {
            scalars.metric.name for scalars in self.start.scalars
        }
        if name in taken:
            raise CaseError(
                f"{self.case.id}: metric {name!r} is measured twice in one test",
                "use devperf.measure(name, ...) for a second measurement",
            )

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """Refuse a measurement that begins while another one of this test is under way."""
        if self._running is not None:
            raise CaseError(
                f"{self.case.id}: {name!r} was to be measured while {self._running!r} is",
                "measure one after the other",
            )
        self._running = name
        try:
            yield
        finally:
            self._running = None

    @contextmanager
    def _unbroken(self, name: str) -> Iterator[None]:
        """Note a measurement that ends with an exception: the test may catch it, but has no measurement then."""
        try:
            yield
        except BaseException as error:
            self._broken = f"the measurement of {name!r} ended with {type(error).__name__}"
            raise

    def _prepared(self, call: Call) -> Call:
        """Say whether this start takes a call's memory; of an object that was loaded, the load's is taken."""
        return replace(call, memory=self._takes_few and self._loaded is None and self.case.memory)

    async def _spend(self, runner: AnyRunner, metric: Metric, workload: Workload) -> None:
        """Do with a runner what this start is for: rounds, memory, or both."""
        self.note_software(runner)
        if self._takes_rounds:
            self._new(metric.name)
            self.probes.append(Probe(metric=metric, workload=workload))
            start_plan = self.orders.start_plan(metric.name)
            around = self.around_rounds()
            self._keep(metric, await measure_start(runner, start_plan, self.case.plan, self._clock, around))
        if not self._takes_few or not isinstance(workload, Call):
            return
        if self._loaded is not None:
            # The peak is the load's: the object that was loaded is at work here.
            self._loaded.resume()
            await run_timed(runner, MIN_ITERATIONS, 1)
        elif self.case.memory:
            taken = runner.memory(MIN_ITERATIONS)
            self._keep_memory(await taken if isawaitable(taken) else taken)

    def note_software(self, runner: AnyRunner) -> None:
        """Write down the software that runs a workload, if only its runner knows it."""
        if isinstance(runner, Describing):
            self.start.env.update(runner.env)

    def _redo(self, round_: Round) -> bool:
        """Take a round again that a phone throttled in, once it has cooled down."""
        if not round_.throttled or self._target is None or self._cool_again is None:
            return False
        return self._cool_again(self._target)

    def _on_round(self, round_: Round) -> None:
        if self._target is not None and is_this_machine(self._target):
            self.start.looks.append(self._target.look())
        if self._report_round is not None:
            self._report_round(round_)

    def _keep(self, metric: Metric, start_result: StartResult) -> None:
        """Keep a stretch, and the values that its rounds brought."""
        self.start.timed.append(Timed(metric=metric, start_result=start_result))
        for round_ in start_result.rounds:
            for name, (value, unit, better) in round_.values.items():
                self.record_again(name, value, unit=unit, better="higher" if better == "higher" else "lower")

    def record_again(self, name: str, value: float, *, unit: str, better: Better) -> None:
        """Keep a value that a tool printed in one of its rounds."""
        if name == LOAD:
            self._add(ScalarValues(metric=start_metric(LOAD), values=[value]))
            return
        if unit == "B":
            self._add(ScalarValues(metric=memory_metric(name), values=[value / BYTES_PER_MIB]))
            return
        self.record(name, value, unit=unit, better=better)

    def _add(self, scalars: ScalarValues) -> None:
        known = next((old for old in self.start.scalars if old.metric.name == scalars.metric.name), None)
        if known is None:
            self.start.scalars.append(scalars)
        else:
            known.values.extend(scalars.values)

    def _cycle(self, target: Target, model: Model, outputs: Any) -> Any:  # noqa: ANN401 - outputs by name
        """Bring a model up several times: the first for memory, all for the load."""
        loads: list[int] = []
        for cycle in range(LOAD_CYCLES):
            with target.start(replace(model, memory=cycle == 0), self.orders.process) as runner:
                if runner.load_ns is not None:
                    loads.append(runner.load_ns)
                if cycle == 0:
                    if outputs is None:
                        outputs = self._outputs_of(runner)
                    self._keep_memory(runner.memory(self.case.plan.iterations))
        self._keep_loads(loads)
        return outputs

    def _keep_energy(self) -> None:
        """Keep the energy per iteration, where the battery tells it and one workload alone ran."""
        if len(self.start.timed) != 1:
            return
        drawn_mj = energy_mj(self.start.looks[0], self.start.looks[-1])
        start_result = self.start.timed[0].start_result
        iterations = sum(len(taken.samples_ns) for taken in start_result.rounds) * start_result.inner_loops
        if drawn_mj is not None and iterations:
            self.start.scalars.append(ScalarValues(metric=energy_metric(), values=[drawn_mj / iterations]))

    def _keep_loads(self, loads: Sequence[int]) -> None:
        self.start.scalars.extend(load_values(loads))

    def _keep_memory(self, memory: Memory | None) -> None:
        self.start.scalars.extend(memory_values(memory))
        if memory is not None and memory.unseen_children:
            self.start.unseen_children = True

    def note_survey(self, survey: Survey) -> None:
        """Write down what a target found out about a model.

        Raises:
            CaseError: The test has to pass something before any of its methods can be executed.
            Unsupported: It has no method that can be executed.
        """
        self.start.skipped_methods.update({**survey.skipped, **survey.wanting})
        self.start.inputs.update({name: dict(facts) for name, facts in survey.inputs.items()})
        self.start.model_sha256 = survey.model_sha256
        self.start.env.update(survey.env)
        for name, facts in survey.inputs.items():
            self.start.digests[f"{EXECUTE}: input {name}"] = str(facts.get("sha256"))
        survey.require_method()
