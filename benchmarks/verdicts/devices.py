"""The kinds of virtual devices on which verdicts are tested.

Each is a sum of influences of a typical size for such machines; nothing here was fitted to make a rule look better.
`machine` turns a kind into a machine with a clock.
"""

from __future__ import annotations

from benchmarks.verdicts.influences import (
    Boost,
    Bursts,
    Cap,
    Cores,
    Drift,
    Fall,
    Heat,
    Kind,
    Neighbour,
    Offsets,
    Power,
    Steps,
    Texture,
    Trend,
    Waits,
    Wander,
)

_BUSY_TEXTURE = Texture(jitter=0.012, spike_chance=0.05, spike_low=0.1, spike_high=4.0)
"""Variation of iterations together with other programs: caches are colder, interrupts more frequent."""

BUSY: tuple[Kind, ...] = (
    Kind(
        name="busy: neighbour",
        words="a neighbour on the same core for 20 to 80 % of the time, 2 s at a time, 25 to 70 % slower",
        influences=(Neighbour(share=(0.2, 0.8), lasts_s=2, low=0.25, high=0.7),),
        offsets=Offsets(spread=0.01),
        texture=_BUSY_TEXTURE,
        felt=(0.8, 1.4),
        busy=True,
    ),
    Kind(
        name="busy: neighbour, long",
        words="the same, 15 s at a time",
        influences=(Neighbour(share=(0.2, 0.8), lasts_s=15, low=0.25, high=0.7),),
        offsets=Offsets(spread=0.01),
        texture=_BUSY_TEXTURE,
        felt=(0.8, 1.4),
        busy=True,
    ),
    Kind(
        name="busy: queue",
        words="a queue for 70 % of the time, 20 to 200 waits of 1 to 6 ms per second, and now and then a neighbour",
        influences=(
            Waits(per_s=(20, 200), lasts_s=(0.001, 0.006), share=0.7),
            Neighbour(share=(0.0, 0.4), lasts_s=1, low=0.1, high=0.5),
        ),
        offsets=Offsets(spread=0.02),
        texture=_BUSY_TEXTURE,
        felt=(0.8, 1.4),
        busy=True,
    ),
    Kind(
        name="busy: all day",
        words="a queue for 90 % and a neighbour for 70 to 97 % of the time",
        influences=(
            Waits(per_s=(100, 300), lasts_s=(0.002, 0.008), share=0.9),
            Neighbour(share=(0.7, 0.97), lasts_s=3, low=0.2, high=0.7),
        ),
        offsets=Offsets(spread=0.02),
        texture=_BUSY_TEXTURE,
        felt=(0.8, 1.4),
        busy=True,
    ),
    Kind(
        name="busy now and then",
        words="sessions without a neighbour, with one all the time, and all between",
        influences=(
            Waits(per_s=(0, 200), lasts_s=(0.002, 0.008), share=0.5),
            Neighbour(share=(-0.6, 1.2), lasts_s=3, low=0.2, high=0.7),
        ),
        offsets=Offsets(spread=0.01),
        texture=_BUSY_TEXTURE,
        felt=(0.8, 1.4),
        busy=True,
    ),
)
"""Machines that are always in use by other programs; their parameters are from a recording (see `recorded`)."""

KINDS: tuple[Kind, ...] = (
    Kind(name="quiet", words="a tuned desktop: fixed clock, nothing else running"),
    Kind(
        name="boost",
        words="a turbo clock, 8 % faster, that decays within ten seconds of load",
        influences=(Boost(gain=0.08, decay_s=10, recovery_s=15),),
    ),
    Kind(
        name="governor",
        words="a governor that jumps between three clock steps about every second",
        influences=(Steps(levels=(1.0, 1.06, 1.14), weights=(5, 3, 2), stay_s=1.0),),
    ),
    Kind(
        name="thermal",
        words="heats up within a run and throttles by up to 15 %",
        influences=(Heat(rise_s=25, limit=0.35, slope=0.23, ambient=0.05),),
    ),
    Kind(
        name="lasting heat",
        words="heat left over from before, which lasts through a session (up to 12 % slower)",
        influences=(Heat(rise_s=1500, limit=0.1, slope=0.12, ambient=0.05, start=0.4, start_spread=0.3),),
    ),
    Kind(
        name="clock falls once",
        words="in every second session the clock falls by 10 % for good",
        influences=(Fall(chance=0.5, depth=0.10, within_s=60),),
    ),
    Kind(
        name="clock cap",
        words="in every second session a cap comes and stays, or stood before, 8 to 30 % slower",
        influences=(Cap(chance=0.5, low=0.08, high=0.30, within_s=60),),
    ),
    Kind(
        name="bursts",
        words="another program runs for about 2 s in every 8 and takes 5 to 30 %",
        influences=(Bursts(every_s=6, lasts_s=2, low=0.05, high=0.3),),
    ),
    Kind(
        name="background sync",
        words="another program runs for about 25 s in every 65 and takes 3 to 12 %",
        influences=(Bursts(every_s=40, lasts_s=25, low=0.03, high=0.12),),
    ),
    Kind(
        name="big.LITTLE",
        words="one process start in four lands on a core that is 1.7 times slower",
        cores=Cores(slow_chance=0.25, slow_factor=1.7),
    ),
    Kind(
        name="moves between cores",
        words="the same, and a process is put elsewhere before every third round",
        cores=Cores(slow_chance=0.25, slow_factor=1.7, moves=0.3),
    ),
    Kind(
        name="layout 1 %",
        words="every process start draws an offset of 1 % standard deviation",
        offsets=Offsets(spread=0.01),
    ),
    Kind(
        name="layout 3 %",
        words="every process start draws an offset of 3 % standard deviation",
        offsets=Offsets(spread=0.03),
    ),
    Kind(
        name="layout in modes",
        words="one process start in three has a layout that is 4 % slower",
        offsets=Offsets(kind="modes", spread=0.04),
    ),
    Kind(
        name="layout, heavy tail",
        words="most process starts alike, some slower by 2 to 10 %",
        offsets=Offsets(kind="heavy", spread=0.03),
    ),
    Kind(
        name="coarse clock",
        words="a clock of 10 us steps",
        tick_ns=10_000.0,
    ),
    Kind(
        name="day to day",
        words="every session has a separate level, 3 % standard deviation",
        influences=(Drift(spread=0.03),),
    ),
    Kind(
        name="jitter 2 %",
        words="iterations that scatter by 2 %",
        texture=Texture(jitter=0.02),
    ),
    Kind(
        name="collector spikes",
        words="one iteration in twelve is hit by a collection of 0.2 to 1.5 times its length",
        texture=Texture(jitter=0.006, spike_chance=0.08, spike_low=0.2, spike_high=1.5),
    ),
    Kind(
        name="laptop",
        words="a package power limit that is reached after 15 s of load, 18 % slower there",
        influences=(Power(budget_s=15, refill=0.4, depth=0.18, wobble=0.01), Heat(rise_s=90, limit=0.5, slope=0.06)),
        offsets=Offsets(spread=0.005),
    ),
    Kind(
        name="cloud runner",
        words="stolen time, neighbours that come and go (2 %), 1.5 % between process starts, 1 % between sessions",
        influences=(Wander(spread=0.02, return_s=20), Drift(spread=0.01)),
        offsets=Offsets(spread=0.015),
        texture=Texture(jitter=0.012, spike_chance=0.04, spike_low=0.1, spike_high=4.0),
    ),
    Kind(
        name="bimodal",
        words="iterations of two kinds 4 % apart, in shares that every process start draws",
        texture=Texture(mode_gap=0.04, mode_share=(0.2, 0.6)),
    ),
    Kind(
        name="slow trend",
        words="the machine becomes 6 % slower in the course of a session",
        influences=(Trend(per_minute=0.06, most=0.06),),
    ),
    Kind(
        name="anchor off by 1 %",
        words="an anchor that differs by 1 % between process starts, on a machine that differs by 1 % between sessions",
        influences=(Drift(spread=0.01),),
        anchor_offset=0.01,
    ),
    Kind(
        name="anchor off by 3 %",
        words="an anchor that differs by 3 %, on a machine that differs by 2 % and process starts that do by 1 %",
        influences=(Drift(spread=0.02),),
        offsets=Offsets(spread=0.01),
        anchor_offset=0.03,
    ),
    Kind(
        name="day to day, strongly felt",
        words="day to day, and every workload feels the machine 1.2 to 1.5 times as strongly as the anchor",
        influences=(Drift(spread=0.03),),
        felt=(1.2, 1.5),
    ),
    Kind(
        name="clock falls, strongly felt",
        words="clock falls once, felt alike",
        influences=(Fall(chance=0.5, depth=0.10, within_s=60),),
        felt=(1.2, 1.5),
    ),
    *BUSY,
)
"""The kinds in a table. The numbers are typical of what is reported for such machines."""


def kind_named(name: str) -> Kind:
    """Return a kind by its name.

    Raises:
        KeyError: There is none of that name.
    """
    return {kind.name: kind for kind in KINDS}[name]
