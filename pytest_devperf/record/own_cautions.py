"""The cautions that follow from a run itself, without a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_devperf.english import counted
from pytest_devperf.measure.stability import ADVICE
from pytest_devperf.record.caution import CAUTIONS, ONE_START
from pytest_devperf.record.record import Quality
from pytest_devperf.sensor.added import FAILED_SENSOR
from pytest_devperf.sensor.run_context import RunContext
from pytest_devperf.sensor.summary import RoundFacts, waited_percent
from pytest_devperf.targets.device import HOST

BUSY_CPU_PERCENT = 30.0
"""CPU use of other programs before a run above which a host is busy; on four cores, that is one busy program. Users can
set another value (`devperf_busy_cpu_percent`).
"""

CONTENDED_PERCENT = 10.0
"""Share of a round spent waiting for a CPU. 0.1 to 0.2 % was observed with a free core, and 36 % with two busy programs
on two CPUs: ten is far from both.
"""

LOW_BATTERY_PCT = 25.0
"""Level below which phones begin to save power by themselves: warnings and savers start at 15 to 20 %."""

FEW_ROUNDS = 5
"""Planned rounds below which the spread of rounds means little, and before which convergence is not considered."""

GRADES: Mapping[Quality, str] = {"NOISY": "noisy", "UNTRUSTWORTHY": "untrustworthy"}
"""Caution for each grade of stability."""

ONE_ROUND = "one round does not show how much rounds vary: measure more (--devperf-rounds, --devperf-max-time)"
"""Explanation of the grade of a single round."""

SHOWN_FAILURES = 3
"""Failures of sensors that are shown: different failures on every look would fill the screen."""

THERMAL_SERVICE = "thermalservice: "
"""Prefix of notes in a look about a phone's thermal service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts about a run in addition to its context."""

    kind: str = HOST
    """Kind of device."""
    rounds: Sequence[RoundFacts] = ()
    """All timed rounds."""
    instrumented: str | None = None
    """Name of what traced the measuring thread."""
    processes: int | None = None
    """Process starts planned; None if no rounds were planned."""
    rounds_run: int | None = None
    rounds_planned: int | None = None
    """Rounds planned after fitting the budget; None if no rounds were planned."""
    ended_early: bool = False
    """Whether the rounds ended because there were enough (an early pass, convergence)."""
    quality: Quality | None = None
    emulator: bool = False
    debug_build: bool = False
    shared_process: bool = False
    """Whether load or memory was measured in the process of the whole test run."""
    unseeded: Sequence[str] = ()
    """Inputs that differ in every process start."""
    timed_whole: bool = False
    """Whether a program was timed as a whole."""
    not_counted: str | None = None
    """Why instructions were not counted, although they were to be."""
    children_not_counted: bool = False
    """Whether the test started processes while its instructions were counted."""
    uncounted_children: bool = False
    """Whether the memory of a child process is unknown, or was not read just before its exit."""


def own_cautions(context: RunContext, facts: RunFacts, *, busy_cpu_percent: float = BUSY_CPU_PERCENT) -> dict[str, str]:
    """Return the cautions that follow from a run itself, without a baseline.

    Args:
        context: The summary of its sensors.
        facts: Further facts.
        busy_cpu_percent: CPU use before the run above which a host is busy.

    Returns:
        Slug -> its cause, with numbers; in the order of `CAUTIONS`.
    """
    found = dict(_of_heat(context, facts))
    found.update(_of_sensors(context, busy_cpu_percent))
    found.update(_of_rounds(facts))
    found.update(_of_plan(facts))
    found.update(_of_counts(facts))
    return {slug: found[slug] for slug in CAUTIONS if slug in found}


def _of_heat(context: RunContext, facts: RunFacts) -> Iterator[tuple[str, str]]:
    hot = any(each.throttled for each in facts.rounds)
    where = f", {context.temp_max_c:.0f} °C at most" if context.temp_max_c is not None else ""
    if hot:
        count = sum(bool(each.throttled) for each in facts.rounds)
        yield "throttled", f"throttled in {count} of {len(facts.rounds)} rounds{where}"
    elif context.throttled and facts.kind == HOST:
        yield "throttled-outside", f"throttled outside the timed rounds{where}"
    elif context.throttled:
        yield "throttled", f"throttled during the run{where}"
    elif context.throttled is None and facts.kind != HOST:
        why = next((f" ({note})" for note in context.notes if note.startswith(THERMAL_SERVICE)), "")
        yield "unknown-throttling", f"{CAUTIONS['unknown-throttling'].words}{why}"


def _of_sensors(context: RunContext, busy_cpu_percent: float) -> Iterator[tuple[str, str]]:
    if context.prerun_cpu_pct is not None and context.prerun_cpu_pct > busy_cpu_percent:
        yield "busy-host", f"{context.prerun_cpu_pct:.0f} % CPU was used before the run, above {busy_cpu_percent:g} %"
    if context.faked:
        yield "faked-sensors", CAUTIONS["faked-sensors"].words
    if context.battery_pct is not None and context.battery_pct < LOW_BATTERY_PCT:
        yield "low-battery", f"battery at {context.battery_pct:.0f} %, below {LOW_BATTERY_PCT:g} %"
    if context.charging:
        yield "charging", CAUTIONS["charging"].words

    failed = [note.removeprefix(FAILED_SENSOR) for note in context.notes if note.startswith(FAILED_SENSOR)]
    if failed:
        more = f" and {counted(len(failed) - SHOWN_FAILURES, 'other failure')}" if len(failed) > SHOWN_FAILURES else ""
        yield "sensor-failed", "; ".join(failed[:SHOWN_FAILURES]) + more


def _of_rounds(facts: RunFacts) -> Iterator[tuple[str, str]]:
    waits = [percent for percent in map(waited_percent, facts.rounds) if percent is not None]
    count = sum(percent > CONTENDED_PERCENT for percent in waits)
    # One preemption dominates a round of microseconds, but the best round counts: most rounds have to be affected.
    if count > len(waits) / 2:
        yield (
            "contended",
            f"the measuring thread waited for a CPU, up to {max(waits):.0f} % of a round, "
            f"in {count} of {len(waits)} rounds",
        )
    if any(each.slept for each in facts.rounds):
        yield "slept", CAUTIONS["slept"].words
    left = next((each.left for each in facts.rounds if each.left is not None), None)
    if left is not None:
        yield "left-running", f"the program left running, and was ended: {left}"
    if facts.instrumented is not None:
        advice = "; measure with --no-cov" if "coverage" in facts.instrumented else ""
        yield "instrumented", f"{facts.instrumented} traced the measuring thread{advice}"


def _of_plan(facts: RunFacts) -> Iterator[tuple[str, str]]:
    if facts.unseeded:
        differ = "differ" if len(facts.unseeded) > 1 else "differs"
        yield "unseeded", f"{', '.join(facts.unseeded)} {differ} in every process start"
    planned, run = facts.rounds_planned, facts.rounds_run
    if planned is not None and planned < FEW_ROUNDS:
        yield "few-rounds", f"{counted(planned, 'round')} planned, fewer than {FEW_ROUNDS}"
    elif planned is not None and run is not None and run < planned and not facts.ended_early:
        yield "few-rounds", f"{run} of {planned} planned rounds measured"
    if facts.processes == 1:
        yield ONE_START, CAUTIONS[ONE_START].words
    for slug, carried in (
        ("emulator", facts.emulator),
        ("debug-build", facts.debug_build),
        ("shared-process", facts.shared_process),
        ("whole-program", facts.timed_whole),
        ("uncounted-children", facts.uncounted_children),
    ):
        if carried:
            yield slug, CAUTIONS[slug].words
    if facts.quality is not None and facts.quality in GRADES:
        slug = GRADES[facts.quality]
        yield slug, ONE_ROUND if run == 1 else f"{CAUTIONS[slug].words}: {ADVICE[facts.quality]}"


def _of_counts(facts: RunFacts) -> Iterator[tuple[str, str]]:
    if facts.not_counted is not None:
        yield "not-counted", f"{CAUTIONS['not-counted'].words}: {facts.not_counted}"
    if facts.children_not_counted:
        yield "children-not-counted", CAUTIONS["children-not-counted"].words
