"""The kinds of virtual device that verdicts are tried on.

Each is a sum of influences whose size is what is commonly seen on such machines; nothing here was
fitted to make a rule look better. `machine` turns a kind into a machine with a clock.
"""

from __future__ import annotations

from benchmarks.verdicts.influences import (
    Boost,
    Bursts,
    Cores,
    Drift,
    Fall,
    Heat,
    Kind,
    Offsets,
    Power,
    Steps,
    Texture,
    Trend,
    Wander,
)

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
        name="bursts",
        words="another program runs for about 2 s in every 8 and takes 5 to 30 %",
        influences=(Bursts(every_s=6, lasts_s=2, low=0.05, high=0.3),),
    ),
    Kind(
        name="big.LITTLE",
        words="one process start in four lands on a core that is 1.7 times slower",
        cores=Cores(slow_chance=0.25, slow_factor=1.7),
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
        words="every session has a level of its own, 3 % standard deviation",
        influences=(Drift(spread=0.03),),
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
)
"""The kinds a table is made of. Numbers are the size of what is commonly reported for such machines."""


def kind_named(name: str) -> Kind:
    """Find a kind by its name.

    Raises:
        KeyError: There is none of that name.
    """
    return {kind.name: kind for kind in KINDS}[name]
