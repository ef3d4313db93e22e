"""Influences that slow a machine down: one class per kind of disturbance, all pure arithmetic.

An influence has a state that changes with virtual time. Its `factor` multiplies the time of everything that runs on the
machine, the anchor kernel too; 1.0 is the undisturbed machine. The state persists between process starts and sessions,
so the heat of one case affects the next one.

The parameters of the influences are in `devices`, which combines them to devices.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]
"""(iterations,) ns."""

SECOND_MODE = 0.35
"""Share of process starts with the slower of two layouts."""


class Influence(Protocol):
    """One cause of slowdown."""

    factor: float
    """Current slowdown of everything on the machine; 1.0 is undisturbed."""

    def wake(self, draw: random.Random) -> None:
        """Begin a session after hours of idling."""
        ...

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:
        """Let time pass.

        Args:
            seconds: How much.
            load: 1.0 while something is measured or started, 0.0 while the machine waits.
            draw: Source of chance.
        """
        ...


@dataclass(slots=True)
class Boost:
    """A turbo clock that decays under load and recovers when idle (DVFS boost)."""

    gain: float
    """Slowdown of the machine without the boost, as a fraction."""
    decay_s: float
    """Time constant of the decay under load."""
    recovery_s: float
    """Time constant of the recovery when idle."""
    spent: float = 0.0
    """0: full boost, 1: none left."""
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Restore the boost after an idle night, except for background work of the system."""
        self.spent = 0.2 * draw.random()
        self.factor = 1 + self.gain * self.spent

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - deterministic
        """Approach no boost under load and full boost when idle."""
        goal, scale = (1.0, self.decay_s) if load > 0 else (0.0, self.recovery_s)
        self.spent = goal + (self.spent - goal) * math.exp(-seconds / scale)
        self.factor = 1 + self.gain * self.spent


@dataclass(slots=True)
class Steps:
    """A governor that jumps between clock steps at random times."""

    levels: tuple[float, ...]
    """Slowdown at each step."""
    weights: tuple[float, ...]
    """Probability of each step."""
    stay_s: float
    """Mean time on one step."""
    left_s: float = 0.0
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Choose a step."""
        self.factor = draw.choices(self.levels, self.weights)[0]
        self.left_s = draw.expovariate(1 / self.stay_s)

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - blind to load
        """Jump when the time on a step is over."""
        self.left_s -= seconds
        if self.left_s <= 0:
            # Exponential times have no memory, so one draw covers any number of jumps in between.
            self.wake(draw)


@dataclass(slots=True)
class Heat:
    """A temperature that rises under load and lowers the clock above a limit."""

    rise_s: float
    """Time constant of warming and cooling."""
    limit: float
    """Temperature above which the clock drops; 0 is the idle machine, 1 one under continuous load."""
    slope: float
    """Slowdown per unit of temperature above the limit."""
    ambient: float = 0.0
    """Standard deviation of the ambient temperature between sessions, in the same unit."""
    start: float = 0.0
    """Temperature at the beginning of a session: remaining heat of earlier work."""
    start_spread: float = 0.0
    around: float = 0.0
    level: float = 0.0
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Set the ambient temperature of another session."""
        self.around = draw.gauss(0, self.ambient)
        self.level = self.around + max(0.0, draw.gauss(self.start, self.start_spread))
        self.factor = 1 + self.slope * max(0.0, self.level - self.limit)

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - deterministic
        """Approach the temperature determined by the load."""
        goal = self.around + load
        self.level = goal + (self.level - goal) * math.exp(-seconds / self.rise_s)
        self.factor = 1 + self.slope * max(0.0, self.level - self.limit)


@dataclass(slots=True)
class Fall:
    """A clock that drops once during a session, until the next one."""

    chance: float
    """Probability that it happens in a session."""
    depth: float
    """Slowdown afterwards, as a fraction."""
    within_s: float
    """It happens at a uniformly distributed time within this span of the session."""
    left_s: float = math.inf
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Restore the clock and draw the time for this session."""
        self.factor = 1.0
        self.left_s = draw.uniform(0, self.within_s) if draw.random() < self.chance else math.inf

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - the moment is drawn
        """Drop when the time has come."""
        self.left_s -= seconds
        if self.left_s <= 0:
            self.factor = 1 + self.depth


@dataclass(slots=True)
class Cap:
    """A cap on the clock that begins during a session or before it, and stays."""

    chance: float
    """Probability of it in a session."""
    low: float
    high: float
    """The slowdown is a fraction between these."""
    within_s: float
    """It begins at a uniformly distributed time within this span; in three sessions of thirteen it began before."""
    depth: float = 0.0
    left_s: float = math.inf
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Draw the time for this session."""
        self.factor, self.depth = 1.0, draw.uniform(self.low, self.high)
        self.left_s = draw.uniform(-0.3 * self.within_s, self.within_s) if draw.random() < self.chance else math.inf
        self.advance(0.0, 0.0, draw)

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - the moment is drawn
        """Begin when the time has come."""
        self.left_s -= seconds
        if self.left_s <= 0:
            self.factor = 1 + self.depth


@dataclass(slots=True)
class Neighbour:
    """A program on the other thread of the same core, or in the same cache: it slows the code itself down."""

    share: tuple[float, float]
    """Share of time in which it runs; each session draws one between these, clipped to 0 and 1."""
    lasts_s: float
    """Mean length of a visit."""
    low: float
    high: float
    """The slowdown during a visit is a fraction between these."""
    busy: float = 0.0
    on: bool = False
    left_s: float = 0.0
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Draw the share of this session."""
        self.busy = min(1.0, max(0.0, draw.uniform(*self.share)))
        self.on = draw.random() < self.busy
        self._draw(draw)

    def _draw(self, draw: random.Random) -> None:
        """Draw duration and slowdown of the next visit or pause."""
        self.on = (self.on or self.busy >= 1) and self.busy > 0
        mean_s = self.lasts_s if self.on else self.lasts_s * (1 - self.busy) / max(self.busy, 1e-3)
        self.left_s = draw.expovariate(1 / max(mean_s, 1e-3)) if self.busy > 0 else math.inf
        self.factor = 1 + draw.uniform(self.low, self.high) if self.on else 1.0

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - blind to load
        """Change between visit and pause."""
        while seconds >= self.left_s:
            seconds -= self.left_s
            self.on = not self.on
            self._draw(draw)
        self.left_s -= seconds


@dataclass(slots=True)
class Waits:
    """More programs than CPUs: sometimes the thread waits for a CPU. This affects iterations, not everything."""

    per_s: tuple[float, float]
    """Waits per second of running; each session draws one between these."""
    lasts_s: tuple[float, float]
    """Mean duration of a wait; each session draws one between these."""
    share: float
    """Share of time with a queue."""
    stays_s: float = 20.0
    """Mean time until the queue forms or dissolves."""
    rate_per_s: float = 0.0
    wait_s: float = 0.0
    on: bool = False
    left_s: float = 0.0
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Draw the length of this session's queue."""
        self.rate_per_s, self.wait_s = draw.uniform(*self.per_s), draw.uniform(*self.lasts_s)
        self._draw(draw)

    def _draw(self, draw: random.Random) -> None:
        self.on = draw.random() < self.share
        self.left_s = draw.expovariate(1 / self.stays_s)

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - blind to load
        """Form or dissolve the queue."""
        self.left_s -= seconds
        if self.left_s <= 0:
            self._draw(draw)

    def hits(self, times_ns: Times, noise: np.random.Generator) -> Times:
        """Draw how long each iteration waits, in ns.

        Args:
            times_ns: How long the iterations run.
            noise: Source of chance.
        """
        if not self.on:
            return np.zeros_like(times_ns)
        count = noise.poisson(times_ns * (self.rate_per_s / 1e9))
        return count * noise.exponential(self.wait_s * 1e9, times_ns.shape)


@dataclass(slots=True)
class Bursts:
    """Another program that runs now and then and uses cache, memory bandwidth and time."""

    every_s: float
    """Mean pause between bursts."""
    lasts_s: float
    """Mean length of a burst."""
    low: float
    high: float
    """The slowdown during a burst is a fraction between these."""
    on: bool = False
    left_s: float = 0.0
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Begin in a pause or in a burst, according to their shares of time."""
        self.on = draw.random() < self.lasts_s / (self.lasts_s + self.every_s)
        self._draw(draw)

    def _draw(self, draw: random.Random) -> None:
        """Draw duration and slowdown of the next burst or pause."""
        self.left_s = draw.expovariate(1 / (self.lasts_s if self.on else self.every_s))
        self.factor = 1 + draw.uniform(self.low, self.high) if self.on else 1.0

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - blind to load
        """Change between pause and burst."""
        while seconds >= self.left_s:
            seconds -= self.left_s
            self.on = not self.on
            self._draw(draw)
        self.left_s -= seconds


@dataclass(slots=True)
class Drift:
    """A different level for every session: another day, another room, other neighbours."""

    spread: float
    """Standard deviation of the level between sessions, relative."""
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Draw this session's level."""
        self.factor = math.exp(draw.gauss(0, self.spread))

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:
        """Keep the level."""


@dataclass(slots=True)
class Wander:
    """A slowdown that fluctuates around its mean (an Ornstein-Uhlenbeck process): neighbours on a shared machine."""

    spread: float
    """Standard deviation in the long run, relative."""
    return_s: float
    """Time constant of the return to the mean."""
    at: float = 0.0
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Draw from the long-term distribution."""
        self.at = draw.gauss(0, self.spread)
        self.factor = math.exp(self.at)

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - blind to load
        """Take one exact step of the process."""
        keep = math.exp(-seconds / self.return_s)
        self.at = self.at * keep + draw.gauss(0, self.spread * math.sqrt(1 - keep * keep))
        self.factor = math.exp(self.at)


@dataclass(slots=True)
class Trend:
    """A machine that becomes slower during the whole session (memory fragmentation, a leak elsewhere)."""

    per_minute: float
    """Increase of the slowdown per minute, as a fraction."""
    most: float
    """Maximum of the slowdown."""
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Begin again, with a small slowdown."""
        self.factor = 1 + self.most * 0.2 * draw.random()

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:  # noqa: ARG002 - deterministic
        """Increase the slowdown."""
        self.factor = min(1 + self.most, self.factor + self.per_minute * seconds / 60)


@dataclass(slots=True)
class Power:
    """A package power limit: a budget above the sustained power, used up under load (a laptop)."""

    budget_s: float
    """Seconds of load that a full budget lasts."""
    refill: float
    """Seconds of budget regained per idle second."""
    depth: float
    """Slowdown after the budget is used up, as a fraction."""
    wobble: float
    """Relative amplitude of the limited clock around its mean."""
    left_s: float = 0.0
    factor: float = 1.0

    def wake(self, draw: random.Random) -> None:
        """Restore most of the budget of an idle machine."""
        self.left_s = self.budget_s * draw.uniform(0.6, 1.0)
        self.factor = 1.0

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:
        """Use the budget under load and regain it when idle; below a fifth of it the clock drops gradually."""
        change = -seconds if load > 0 else seconds * self.refill
        self.left_s = min(self.budget_s, max(0.0, self.left_s + change))
        lack = 1 - min(1.0, self.left_s / (0.2 * self.budget_s))
        self.factor = 1 + lack * (self.depth + draw.gauss(0, self.wobble))


@dataclass(frozen=True, slots=True)
class Offsets:
    """Properties of a process start: addresses, hash seed, page colours. They affect only the workload."""

    kind: str = "normal"
    """`normal`, `heavy`: one-sided with a long tail, or `modes`: one start in three is slower."""
    spread: float = 0.0
    """Standard deviation (normal), scale (heavy) or distance (modes), relative."""

    def draw(self, draw: random.Random) -> float:
        """Draw one start's factor."""
        if self.kind == "heavy":
            # A Lomax tail of index 3: half of all starts within 0.26 scales, one in 100 beyond 3.6 scales.
            return 1 + self.spread * (draw.paretovariate(3.0) - 1)
        if self.kind == "modes":
            return 1 + self.spread * (draw.random() < SECOND_MODE)
        return math.exp(draw.gauss(0, self.spread))


@dataclass(frozen=True, slots=True)
class Cores:
    """The core of a new process; the anchor runs on the same core."""

    slow_chance: float = 0.0
    """Probability of a slow core."""
    slow_factor: float = 1.0
    """Slowdown on a slow core."""
    moves: float = 0.0
    """Probability that a process moves to another core before a round."""

    def draw(self, draw: random.Random) -> float:
        """Draw a core, and return its slowdown."""
        return self.slow_factor if draw.random() < self.slow_chance else 1.0


@dataclass(frozen=True, slots=True)
class Texture:
    """Variation of the iterations within a round."""

    jitter: float = 0.004
    """Standard deviation of the logarithm of an iteration's time."""
    spike_chance: float = 0.01
    """Probability that an iteration is hit by an interrupt, a collection or a context switch."""
    spike_low: float = 0.05
    spike_high: float = 0.5
    """A spike adds a fraction between these."""
    mode_gap: float = 0.0
    """Distance of a second mode above the first, relative."""
    mode_share: tuple[float, float] = (0.0, 0.0)
    """Share of the second mode; each process start draws one between these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of device: its influences, and the variation of its iterations."""

    name: str
    words: str
    """Its description in one sentence."""
    influences: tuple[Influence, ...] = ()
    offsets: Offsets = field(default_factory=lambda: Offsets(spread=0.002))
    """Even a well isolated machine has differences of a fifth of a percent between process starts."""
    cores: Cores = field(default_factory=Cores)
    texture: Texture = field(default_factory=Texture)
    tick_ns: float = 30.0
    """Step of the clock; reading a fast clock takes 30 ns."""
    anchor_offset: float = 0.003
    """Standard deviation of the anchor between process starts, due to its own layout."""
    felt: tuple[float, float] = (0.6, 1.5)
    """Range of the workloads' sensitivity to the machine, as exponents; the anchor's is 1."""
    busy: bool = False
    """Whether other programs always disturb it: such machines have a separate table."""
