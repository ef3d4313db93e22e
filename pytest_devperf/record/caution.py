"""What makes a measurement less than it seems, by name; each can be accepted by its name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_devperf.english import counted
from pytest_devperf.measure.stability import ADVICE
from pytest_devperf.record.record import Quality
from pytest_devperf.sensor.added import FAILED_SENSOR
from pytest_devperf.sensor.context import RunContext
from pytest_devperf.sensor.summary import RoundFacts, waited_percent
from pytest_devperf.targets.device import HOST

BUSY_CPU_PERCENT = 30.0
"""CPU used by others before a run that makes a host busy; on four cores one program more than itself. A user may
set another (`devperf_busy_cpu_percent`).
"""

CONTENDED_PERCENT = 10.0
"""Share of a round spent waiting for a CPU. With a core to spare 0.1 to 0.2 % was seen, with two busy programs on two
CPUs 36 %: ten lies far from both.
"""

LOW_BATTERY_PCT = 25.0
"""Level below which phones begin to save power on their own: warnings and savers start at 15 to 20 %."""

FEW_ROUNDS = 5
"""Planned rounds below which the spread of rounds says little: also the least before convergence is judged."""

GRADES: Mapping[Quality, str] = {"NOISY": "noisy", "UNTRUSTWORTHY": "untrustworthy"}
"""Cautions of the grades of stability."""

ONE_ROUND = "one round does not show how much rounds vary: measure more (--devperf-rounds, --devperf-max-time)"
"""What the grade of a single round comes to."""

SHOWN_FAILURES = 3
"""Failures of sensors that are shown: one that fails otherwise each time would fill the screen."""

THERMAL_SERVICE = "thermalservice: "
"""How a look begins what it says of a phone's thermal service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """One thing to know about a measurement."""

    slug: str
    words: str
    """What it means, as a clause."""
    refuses: bool = False
    """Whether a case that carries it is not compared, unless it is accepted."""
    host_told: bool = False
    """Whether it is only told on a host, unless the context is strict."""
    remedy: str = ""
    """What the user does about it, where it refuses."""


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
            host_told=True,
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
            host_told=True,
        ),
        Caution(
            slug="busy-host",
            words="other programs used the CPU before the run",
            refuses=True,
            remedy="end other programs first",
            host_told=True,
        ),
        Caution(
            slug="contended",
            words="the measuring thread had to wait for a CPU",
            refuses=True,
            remedy="end other programs, or keep CPUs free with --devperf-affinity",
            host_told=True,
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
        Caution(slug="one-start", words="all rounds come from one process start"),
        Caution(slug="shared-process", words="load or memory was taken in a process that had done other work"),
        Caution(slug="whole-program", words="times are wall times of whole program starts"),
        Caution(slug="left-running", words="the program left processes running, which were ended"),
        Caution(slug="uncounted-children", words="memory of child processes was not counted, or not to their end"),
        Caution(slug="noisy", words="round medians vary more than the stability target"),
        Caution(slug="untrustworthy", words="round medians vary more than twice the stability target"),
    )
}
"""Every caution by its name; those that refuse first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a run knows of itself beside its context."""

    kind: str = HOST
    """Kind of device."""
    rounds: Sequence[RoundFacts] = ()
    """All timed rounds."""
    instrumented: str | None = None
    """Name of what traced the measuring thread."""
    processes: int | None = None
    """Process starts planned; None where no rounds were to be measured."""
    rounds_run: int | None = None
    rounds_planned: int | None = None
    """Rounds planned once the budget was fitted; None where no rounds were to be measured."""
    ended_early: bool = False
    """Whether the rounds ended because enough was known (an early pass, convergence)."""
    quality: Quality | None = None
    emulator: bool = False
    debug_build: bool = False
    shared_process: bool = False
    """Whether a load or memory was taken in the process of the whole test run."""
    unseeded: Sequence[str] = ()
    """Inputs that differ in every process start."""
    timed_whole: bool = False
    """Whether a program was timed from its start to its end."""
    uncounted_children: bool = False
    """Whether a child process ended that was not looked at, or not just before its end."""


def own_cautions(context: RunContext, facts: RunFacts, *, busy_cpu_percent: float = BUSY_CPU_PERCENT) -> dict[str, str]:
    """Name the cautions that a run can know by itself, without a baseline.

    Args:
        context: What its sensors came to.
        facts: What else it knows.
        busy_cpu_percent: CPU used before the run above which the host counts as busy.

    Returns:
        Slug -> what made it, in words with numbers; in the order of `CAUTIONS`.
    """
    found = dict(_of_heat(context, facts))
    found.update(_of_sensors(context, busy_cpu_percent))
    found.update(_of_rounds(facts))
    found.update(_of_plan(facts))
    return {slug: found[slug] for slug in CAUTIONS if slug in found}


def refusing(
    slugs: Iterable[str], *, kind: str, strict_context: bool = False, accept: Collection[str] = ()
) -> tuple[str, ...]:
    """Choose the cautions that forbid a comparison.

    Args:
        slugs: Cautions that a case carries; names that are not known are told only.
        kind: Kind of device.
        strict_context: Whether all refusing cautions refuse on a host too.
        accept: Cautions that the user accepts.
    """
    told = kind == HOST and not strict_context
    known = (CAUTIONS[slug] for slug in dict.fromkeys(slugs) if slug in CAUTIONS and slug not in accept)
    return tuple(caution.slug for caution in known if caution.refuses and not (caution.host_told and told))


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
    # One preemption fills a round of microseconds, and the best round decides: it takes most of them to matter.
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
        yield "one-start", CAUTIONS["one-start"].words
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
