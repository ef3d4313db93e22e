"""What is explained, in which order, and what is shown if it cannot be; profiled starts are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from driving import Display, Reporter, VirtualClock

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.history import Baseline, BaselineRun
from pytest_devperf.compare.policy import Policy
from pytest_devperf.errors import TargetError
from pytest_devperf.explain.profile import Profile, Row
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.metric import time_metric
from pytest_devperf.record.record import Change, Comparison, DeviceRecord, Measurement, Record, WorkloadRecord
from pytest_devperf.session.cases.case_state import CaseState, TestAddress, TestOutcome
from pytest_devperf.session.cases.found import StartFound
from pytest_devperf.session.explaining.explainer import Explainer
from pytest_devperf.session.launch.follow import WorkerResult
from pytest_devperf.session.schedule import Batch
from pytest_devperf.session.starts.start import CaseStart, Timed
from pytest_devperf.session.verdicts import Verdicts
from pytest_devperf.targets.device import Device


class Host:
    device = Device(kind="host", model="made up")


HOST = Host()


def profile(us: float) -> Profile:
    rows = (Row("shop/cart.py total", 1, (us * 1000,)), *(Row(f"other.py f{at}", 1, (1e5,)) for at in range(8)))
    return Profile(metric="latency", runtime="CPython 3.13", iterations=3, plain_ns=1e6, rows=rows)


def state(name: str, percent: float, *, verdict: str = "regressed", kind: str = "call", **fields) -> CaseState:
    """A case that was judged: 1 ms, and so much more."""
    result = StartResult(
        rounds=(Round(process=0, samples_ns=(1e6,)),),
        iterations=1,
        inner_loops=1,
        total_rounds=1,
        tick_ns=None,
        stop="done",
    )
    delta = percent / 100
    change = Change(
        metric="latency", verdict=verdict, baseline=1.0, candidate=1.0 + delta, delta=delta, delta_pct=percent
    )
    comparison = Comparison(verdict=verdict, changes=(change,))
    record = Record(
        id=name,
        workload=WorkloadRecord(fingerprint="w", kind=kind),
        metrics=(Measurement(name="latency", unit="ms", process=(0,), robust=1.0 + delta),),
        comparison=comparison,
    )
    return CaseState(
        **{
            "index": int(name),
            "case": Case(id=name, plan=Plan()),
            "address": TestAddress(path="", nodeid=name),
            "policy": Policy(),
            "target": HOST,
            "outcome": TestOutcome(),
            "starts": [
                CaseStart(
                    process=0,
                    role="rounds",
                    kind=kind,
                    explainable=kind == "call",
                    timed=[Timed(metric=time_metric("latency"), start_result=result)],
                )
            ],
            "record": record,
            "comparison": comparison,
            "judged": True,
            **fields,
        }
    )


@dataclass
class Launchers:
    """Profiled starts, of which it is known what they give."""

    give: Callable[[bool], WorkerResult]
    clock: VirtualClock = field(default_factory=VirtualClock)
    start_s: float = 1.0
    taken: list[tuple[bool, list[str], int]] = field(default_factory=list)

    def profile(self, batch: Batch, *, old: bool) -> Iterator[StartFound]:
        ids = [member.state.case.id for member in batch.members]
        self.taken.append((old, ids, batch.request.process))
        self.clock.sleep(self.start_s * len(ids))
        for member in batch.members:
            yield StartFound(state=member.state, process=batch.request.process, result=self.give(old))


def found(us: float) -> WorkerResult:
    return WorkerResult(begun=True, start=CaseStart(process=1, role="profile", profiles=[profile(us)]))


def slower(old: bool) -> WorkerResult:
    return found(100 if old else 300)


def baseline(*profiles: Profile) -> Baseline:
    record = Record(id="1", workload=WorkloadRecord(fingerprint="w", kind="call"), profiles=profiles)
    run = BaselineRun(run_id="r", taken_at="2026-11-30T00:00:00Z", commit=None, settings={}, record=record)
    device = DeviceRecord(fingerprint="0123456789ab", kind="host")
    return Baseline(case_id="1", device=device, same_device=True, runs=(run,))


def make(launchers: Launchers, **fields) -> Explainer:
    given = {"mode": "auto", "saves": False, "in_turns": True, "reporter": Reporter(), "display": Display()}
    return Explainer(**{**given, "launchers": launchers, "clock": lambda: launchers.clock, **fields})


def reason(case: CaseState) -> str | None:
    assert case.comparison is not None
    assert case.record is not None
    assert case.record.comparison == case.comparison
    return case.comparison.explanation.reason if case.comparison.explanation is not None else "not looked at"


def test_old_and_new_code_are_profiled_in_turns() -> None:
    launchers, case = Launchers(slower), state("1", 20)
    make(launchers).explain([case], 1e9)
    assert launchers.taken == [(True, ["1"], 1), (False, ["1"], 2), (False, ["1"], 3), (True, ["1"], 4)]
    assert case.comparison is not None
    (cause,) = case.comparison.explanation.causes
    assert cause.name == "shop/cart.py total"
    assert [taken.starts for taken in case.record.profiles] == [2]


def test_the_saved_profile_is_the_old_side_if_there_is_no_old_code() -> None:
    launchers = Launchers(slower)
    with_profile, without = state("1", 900), state("2", 20)
    with_profile.baseline = baseline(profile(100))
    without.baseline = baseline()
    make(launchers, in_turns=False).explain([with_profile, without], 1e9)
    assert [(old, ids) for old, ids, _ in launchers.taken] == [(False, ["1"]), (False, ["1"])]
    assert reason(without) == (
        "not known, because the baseline holds no profile: save it again, or use --devperf-against"
    )


@pytest.mark.parametrize(
    ("mode", "explained"), [("auto", ["1", "4"]), ("all", ["1", "2", "4"]), ("off", [])], ids=["auto", "all", "off"]
)
def test_the_option_chooses_which_verdicts_are_explained(mode: str, explained: list[str]) -> None:
    cases = [
        state("1", 20),
        state("2", 20, verdict="suspect"),
        state("3", 1, verdict="within_noise"),
        state("4", -20, verdict="improved"),
        state("5", 20, kind="command"),
        state("6", 20, case=Case(id="6", plan=Plan(processes=1))),
    ]
    explainer = make(Launchers(slower), mode=mode)
    assert [case.case.id for case in cases if explainer.wants(case)] == explained


def test_the_largest_regression_comes_first_and_the_time_is_limited() -> None:
    launchers = Launchers(slower, start_s=2.0)
    cases = [state(str(at), at) for at in range(1, 21)]
    make(launchers).explain(cases, 1e9)
    first, *_ = [ids for _, ids, _ in launchers.taken]
    assert first == ["20", "19", "18", "17"]
    left = {case.case.id for case in cases if (reason(case) or "").startswith("not looked for")}
    assert left == {str(at) for at in range(1, 14)}  # 4 cases took 32 s, so 3 more fit into 60 s


def test_nothing_is_begun_if_the_session_has_no_time_left() -> None:
    launchers, case = Launchers(slower), state("1", 20)
    make(launchers).explain([case], -1.0)
    assert launchers.taken == []
    assert reason(case) == "not looked for, because the time for explanations is used up"


def test_what_goes_wrong_is_the_reason() -> None:
    case = state("1", 20)
    make(Launchers(lambda old: found(1) if old else WorkerResult(begun=True, died="oh"))).explain([case], 1e9)
    assert reason(case) == "not known: the interpreter that profiled the new code did not finish this case"

    def gone(old: bool) -> WorkerResult:
        raise TargetError("no more processes")

    case = state("1", 20)
    make(Launchers(gone)).explain([case], 1e9)
    assert reason(case) == "not known: no more processes"

    class Failing(Reporter):
        def read_outcome(self, reports: object) -> TestOutcome:
            return TestOutcome("failed", "it did")

    case = state("1", 20)
    make(Launchers(slower), reporter=Failing()).explain([case], 1e9)
    assert reason(case) == "not known: with the old code under the profiler the test did not pass (it did)"


def test_an_interrupted_explanation_reports_the_verdict() -> None:
    def interrupted(old: bool) -> WorkerResult:
        raise KeyboardInterrupt

    reporter, case = Reporter(), state("1", 20)
    verdicts = Verdicts(
        mode=None, reporter=reporter, hint="", explainer=make(Launchers(interrupted), reporter=reporter)
    )
    with pytest.raises(KeyboardInterrupt):
        verdicts.explain([case], 1e9)
    assert reporter.concluded == [case]
    assert case.concluded


def test_cases_of_a_saved_run_are_profiled_unless_they_were() -> None:
    launchers = Launchers(slower)
    explainer = make(launchers, saves=True, in_turns=False)
    untimed = CaseStart(process=0, role="rounds", kind="call", explainable=True)
    cases = [state("1", 1), state("2", 1), state("3", 1, kind="command"), state("4", 1, starts=[untimed])]
    explainer.profile(cases, 1e9)
    explainer.profile(cases, 1e9)
    assert [(old, ids) for old, ids, _ in launchers.taken] == [(False, ["1", "2"])] * 2
    assert [len(case.record.profiles) for case in cases if case.record is not None] == [1, 1, 0, 0]
    assert cases[0].comparison is not None
    assert cases[0].comparison.explanation is None


def test_cases_that_are_saved_without_a_profile_are_counted() -> None:
    launchers, display = Launchers(slower, start_s=10.0), Display()
    make(launchers, saves=True, display=display).profile([state(str(at), 1) for at in range(1, 9)], 1e9)
    assert display.announced == [
        "4 cases saved without a profile, because the 60 s for profiles are used up: a later change of these is not "
        "explained"
    ]
