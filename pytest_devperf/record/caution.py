"""Cautions: named reasons to doubt a measurement, which users can accept one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pytest_devperf.english import counted
from pytest_devperf.measure.stability import ADVICE
from pytest_devperf.record.record import Quality, Record
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

IMPORTED = "imported"
"""Caution, and kind of the workload, of results of other tools."""

ONE_START = "one-start"

ONE_ROUND = "one round does not show how much rounds vary: measure more (--devperf-rounds, --devperf-max-time)"
"""Explanation of the grade of a single round."""

SHOWN_FAILURES = 3
"""Failures of sensors that are shown: different failures on every look would fill the screen."""

THERMAL_SERVICE = "thermalservice: "
"""Prefix of notes in a look about a phone's thermal service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """A reason to doubt a measurement."""

    slug: str
    words: str
    """Its meaning, as a clause."""
    refuses: bool = False
    """Whether a case with this caution is not compared, unless the caution is accepted."""
    host_tolerated: bool = False
    """Whether a host only reports it, unless the context is strict."""
    remedy: str = ""
    """What the user should do if it refuses comparison."""


CAUTIONS: Mapping[str, Caution] = {
    caution.slug: caution
    for caution in (
        Caution(
            slug="throttled",
            words="the device throttled",
            refuses=True,
            remedy="let it cool down first, with --devperf-cooldown=auto",
        ),
        Caution(
            slug="throttled-outside",
            words="the machine throttled outside the timed rounds",
            refuses=True,
            remedy="let it cool down first, with --devperf-cooldown=auto",
            host_tolerated=True,
        ),
        Caution(
            slug="clock-capped",
            words="a frequency cap that the baseline did not have",
            refuses=True,
            remedy="switch battery savers off and let it cool down, or save a new baseline",
        ),
        Caution(
            slug="power-changed",
            words="mains power on one side, battery on the other",
            refuses=True,
            remedy="use the power source of the baseline, or save a new one",
        ),
        Caution(
            slug="hot-start",
            words="the start temperature differs from the baseline's",
            refuses=True,
            remedy="let it cool down first, with --devperf-cooldown=auto or temp=C",
            host_tolerated=True,
        ),
        Caution(
            slug="busy-host",
            words="other programs used the CPU before the run",
            refuses=True,
            remedy="end other programs first",
            host_tolerated=True,
        ),
        Caution(
            slug="contended",
            words="the measuring thread had to wait for a CPU",
            refuses=True,
            remedy="end other programs, or keep CPUs free with --devperf-affinity",
            host_tolerated=True,
        ),
        Caution(
            slug="faked-sensors",
            words="the device's sensors are overridden",
            refuses=True,
            remedy="undo it with adb shell dumpsys battery reset and adb shell cmd thermalservice reset",
        ),
        Caution(slug="slept", words="the machine slept during a round", refuses=True, remedy="keep the machine awake"),
        Caution(
            slug="instrumented", words="the measuring thread was traced", refuses=True, remedy="measure without tracing"
        ),
        Caution(
            slug="unseeded",
            words="inputs differ in every process start",
            refuses=True,
            remedy="seed them, or take them from devperf.inputs",
        ),
        Caution(
            slug="provider-fell-back",
            words="nodes ran on another execution provider than in the baseline",
            refuses=True,
            remedy="name the baseline's with --devperf-provider",
        ),
        Caution(
            slug=IMPORTED,
            words="imported from another tool, without an anchor, from one process start, its inputs not known",
            refuses=True,
            remedy="save a baseline with --devperf-save",
        ),
        Caution(slug="unknown-throttling", words="nothing shows whether the device throttled"),
        Caution(slug="sensor-failed", words="a sensor of a plugin could not be read"),
        Caution(slug="low-battery", words="the battery was low"),
        Caution(slug="charging", words="the battery was charging, which keeps a device warm"),
        Caution(slug="emulator", words="an emulator, whose times are those of its host"),
        Caution(slug="debug-build", words="a debug build was measured"),
        Caution(slug="other-unit", words="another unit of the same model"),
        Caution(slug="os-changed", words="another version of the operating system"),
        Caution(slug="runtime-changed", words="another version of the runtime"),
        Caution(slug="model-changed", words="another model file"),
        Caution(slug="unknown-context", words="one side lacks a reading"),
        Caution(slug="few-rounds", words="few rounds were measured"),
        Caution(slug=ONE_START, words="all rounds come from one process start"),
        Caution(slug="shared-process", words="load or memory was taken in a process that had done other work"),
        Caution(slug="whole-program", words="times are wall times of whole program starts"),
        Caution(slug="left-running", words="the program left processes running, which were ended"),
        Caution(slug="uncounted-children", words="memory of child processes was not counted, or not to their end"),
        Caution(slug="not-counted", words="instructions were not counted"),
        Caution(slug="children-not-counted", words="processes that the test started were not counted"),
        Caution(slug="blind", words="no comparison with this run can detect a change that matters"),
        Caution(slug="noisy", words="round medians vary more than the stability target"),
        Caution(slug="untrustworthy", words="round medians vary more than twice the stability target"),
    )
}
"""Every caution by its name; refusing ones first."""


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


def with_caution(record: Record, slug: str, words: str) -> Record:
    """Add a caution to a record."""
    notes = {**record.caution_notes, slug: words}
    return msgspec.structs.replace(record, cautions=tuple(notes), caution_notes=notes)


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


def refusing(
    slugs: Iterable[str], *, kind: str, strict_context: bool = False, accept: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the cautions that refuse a comparison.

    Args:
        slugs: Cautions of a case; unknown ones never refuse.
        kind: Kind of device.
        strict_context: Whether all refusing cautions refuse on a host as well.
        accept: Cautions that the user accepts.
    """
    tolerant = kind == HOST and not strict_context
    known = (CAUTIONS[slug] for slug in dict.fromkeys(slugs) if slug in CAUTIONS and slug not in accept)
    return tuple(caution.slug for caution in known if caution.refuses and not (caution.host_tolerated and tolerant))


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
