"""Cautions: named reasons to doubt a measurement, which users can accept one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from pytest_devperf.record.record import Record
from pytest_devperf.targets.device import HOST

IMPORTED = "imported"
"""Caution, and kind of the workload, of results of other tools."""

ONE_START = "one-start"


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


def with_caution(record: Record, slug: str, words: str) -> Record:
    """Add a caution to a record."""
    notes = {**record.caution_notes, slug: words}
    return msgspec.structs.replace(record, cautions=tuple(notes), caution_notes=notes)


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
