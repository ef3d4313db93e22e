"""Summarise the looks of a run: its start, its end, and the worst values between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from pytest_devperf.sensor.context import Context, CpuSet
from pytest_devperf.sensor.run_context import SOFTWARE, ClockState, During, RunContext

STOLEN_PERCENT = 5.0
"""Share of CPU time taken by a hypervisor that is reported: below it, it is lost among other noise."""


class RoundFacts(Protocol):
    """The properties of a round used here; `measure.round.Round` has them."""

    @property
    def wall_ns(self) -> int | None:
        """Wall time of the round."""
        ...

    @property
    def waited_ns(self) -> int | None:
        """Time that the measuring thread was runnable but had no CPU."""
        ...

    @property
    def slept(self) -> bool:
        """Whether the machine was suspended."""
        ...

    @property
    def throttled(self) -> bool | None:
        """Whether the device throttled."""
        ...

    @property
    def temp_c(self) -> float | None:
        """Highest temperature."""
        ...

    @property
    def cpu_pct(self) -> float | None:
        """CPU use of the whole device, if its looks do not report it."""
        ...

    @property
    def used_ram_mb(self) -> float | None:
        """Peak memory use of the device, if its looks do not report it."""
        ...

    @property
    def left(self) -> str | None:
        """Processes that a program left behind."""
        ...


def chain_looks(starts: Iterable[Sequence[Context]]) -> list[Context]:
    """Concatenate the looks of process starts.

    The rates in the first look of a start cover the time before it, for example a wait for a phone to cool down, so
    they are left out.
    """
    chained: list[Context] = []
    for looks in starts:
        first = [
            replace(look, cpu_pct=None, stolen_pct=None, adapter_util_pct=None, pressure_cpu_pct=None)
            for look in looks[:1]
        ]
        chained += [*first, *looks[1:]]
    return chained


def summarise(looks: Sequence[Context], rounds: Sequence[RoundFacts] = (), *, prerun: Context | None) -> RunContext:
    """Summarise the looks of a run, or of one case.

    Args:
        looks: Looks in order: before, between and after the rounds of all process starts.
        rounds: All rounds of all process starts.
        prerun: The look at the idle machine before the run, if there was one.

    Returns:
        The worst of each reading: highest temperature, lowest clock cap, `battery` if it ever was on battery. A
        reading missing from every look is None.
    """
    first, last = (looks[0], looks[-1]) if looks else (None, None)
    temps = [look.temp_c for look in looks] + [each.temp_c for each in rounds]
    return RunContext(
        temp_start_c=first.temp_c if first else None,
        temp_end_c=last.temp_c if last else None,
        temp_max_c=_most(temps),
        sensors_max_c=_highest(look.sensors_c for look in looks),
        throttled=_throttled(looks, rounds),
        clock_state=_clock_state(looks),
        cpu_set=min(_cpu_sets(looks), key=lambda each: each.usable, default=None),
        power_state=_power_state(looks),
        battery_pct=min((look.battery_pct for look in looks if look.battery_pct is not None), default=None),
        charging=_any(look.charging for look in looks),
        prerun_cpu_pct=prerun.cpu_pct if prerun else None,
        prerun_free_ram_mb=prerun.free_ram_mb if prerun else None,
        during=_during(looks, rounds),
        env=_env(looks),
        anchor=_only({look.anchor for look in looks if look.anchor is not None}),
        faked=any(look.faked for look in looks),
        notes=_notes(looks),
    )


def waited_percent(each: RoundFacts) -> float | None:
    """Return the share of a round's wall time in which the measuring thread waited for a CPU; None if not known."""
    if each.waited_ns is None or not each.wall_ns:
        return None
    return 100 * each.waited_ns / each.wall_ns


def throttled_between(looks: Sequence[Context]) -> bool | None:
    """Return whether a look reports throttling, or the counter rose between two looks; None if not known."""
    counts = [look.throttle_count for look in looks if look.throttle_count is not None]
    rose = [later > earlier for earlier, later in pairwise(counts)]
    return _any([*(look.throttled for look in looks), *rose])


def _throttled(looks: Sequence[Context], rounds: Sequence[RoundFacts]) -> bool | None:
    return _any([throttled_between(looks), *(each.throttled for each in rounds)])


def _clock_state(looks: Sequence[Context]) -> ClockState:
    max_khz: dict[str, int] = {}
    for look in looks:
        for policy, khz in look.max_khz.items():
            max_khz[policy] = min(khz, max_khz.get(policy, khz))
    pins = [look.pinned for look in looks if look.pinned is not None]
    governors = [word for look in looks if look.governor for word in look.governor.split(",")]
    return ClockState(
        pinned=all(pins) if pins else None,
        max_khz=max_khz,
        governor=",".join(dict.fromkeys(governors)) or None,
        power_plan=",".join(dict.fromkeys(look.power_plan for look in looks if look.power_plan)) or None,
    )


def _cpu_sets(looks: Sequence[Context]) -> Sequence[CpuSet]:
    return list(dict.fromkeys(look.cpu_set for look in looks if look.cpu_set is not None))


def _power_state(looks: Sequence[Context]) -> str | None:
    states = [look.power_state for look in looks if look.power_state is not None]
    return "battery" if "battery" in states else states[0] if states else None


def _during(looks: Sequence[Context], rounds: Sequence[RoundFacts]) -> During:
    # The rates of the first look cover the time before the run.
    seen = [*(look.cpu_pct for look in looks[1:]), *(each.cpu_pct for each in rounds)]
    cpu = [percent for percent in seen if percent is not None]
    return During(
        mean_cpu_pct=sum(cpu) / len(cpu) if cpu else None,
        peak_cpu_pct=max(cpu, default=None),
        peak_ram_mb=_most([*(look.used_ram_mb for look in looks), *(each.used_ram_mb for each in rounds)]),
        adapter_util_pct=_most(look.adapter_util_pct for look in looks[1:]),
        device_mem_local_mb=_most(look.device_mem_local_mb for look in looks),
        device_mem_shared_mb=_most(look.device_mem_shared_mb for look in looks),
        waited_pct=_most(waited_percent(each) for each in rounds),
        pressure_cpu_pct=_most(look.pressure_cpu_pct for look in looks[1:]),
        stolen_pct=_most(look.stolen_pct for look in looks[1:]),
    )


def _env(looks: Sequence[Context]) -> Mapping[str, str | None]:
    """Merge the software facts; later looks override earlier ones, except with None."""
    env: dict[str, str | None] = dict.fromkeys(SOFTWARE)
    for look in looks:
        env.update({key: value for key, value in look.env.items() if value is not None or key not in env})
    return env


def _notes(looks: Sequence[Context]) -> tuple[str, ...]:
    notes = [note for look in looks for note in look.notes]
    states = dict.fromkeys(look.power_state for look in looks if look.power_state is not None)
    if len(states) > 1:
        notes.append(f"power changed during the run: {' and '.join(states)}")
    sets = _cpu_sets(looks)
    if len(sets) > 1:
        notes.append(f"the process could not use the same CPUs all the time: {', '.join(each.words for each in sets)}")
    stolen_pct = _most(look.stolen_pct for look in looks[1:]) or 0.0
    if stolen_pct > STOLEN_PERCENT:
        notes.append(f"the hypervisor gave up to {stolen_pct:.0f} % of the CPU time to others")
    if len({look.anchor for look in looks if look.anchor is not None}) > 1:
        notes.append("the anchor kernel was not the same in all process starts")
    return tuple(dict.fromkeys(notes))


def _highest(readings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    highest: dict[str, float] = {}
    for each in readings:
        for name, value in each.items():
            highest[name] = max(value, highest.get(name, value))
    return highest


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _any(states: Iterable[bool | None]) -> bool | None:
    known = [state for state in states if state is not None]
    return any(known) if known else None


def _only(words: set[str]) -> str | None:
    return words.pop() if len(words) == 1 else None
