"""A virtual device: machine, clock, target and runner, all computed from a seed.

The machine's state (heat, boost, drift) changes with virtual time and is common to all cases, process starts and
sessions. Properties of a process start (its layout) affect only the workload, so the anchor kernel shows the state of
the machine but not the layout.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from benchmarks.verdicts.influences import Influence, Kind, Times, Waits
from pytest_devperf.case.workload import Command, Workload
from pytest_devperf.errors import Unsupported
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.protocol import Memory, RoundContext

START_S = 0.4
"""A fresh interpreter with the test's imports."""

ANCHOR_NS = 200_000.0
"""Time of the anchor kernel on the undisturbed machine."""

ANCHOR_JITTER = 0.006
"""Standard deviation of one anchor reading."""

AFTER_ROUND = (0.02, 0.19)
"""Slowdown of the anchor right after other code used the caches."""

LOAD_SPREAD = 0.06
"""Variation of a load, one-sided: files are read and code is compiled, sometimes from a cold cache."""

CHUNK_S = 0.05
"""Interval at which a long round follows changes of the machine."""

MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualCase:
    """A workload with known truth."""

    id: str
    base_ns: float
    """Time of one call on the undisturbed machine."""
    sensitivity: float = 1.0
    """Its sensitivity to the machine's slowdown, as an exponent; the anchor's is 1."""
    load_ns: float | None = None
    """Time to load it; None: nothing to load, and no memory is measured."""
    peak_mib: float = 40.0
    """Peak memory above the interpreter."""


@dataclass(slots=True, kw_only=True)
class Machine:
    """A device in virtual time; `fork` it to try two futures."""

    kind: Kind
    draw: random.Random
    noise: np.random.Generator
    influences: list[Influence]
    now_s: float = 0.0
    slowness: float = 1.0

    def fork(self) -> Machine:
        """Copy it with all its state: both copies have the same future."""
        return copy.deepcopy(self)

    def wake(self, away_s: float = 3600.0) -> None:
        """Begin a session after the machine was idle."""
        self.now_s += away_s
        for influence in self.influences:
            influence.wake(self.draw)
        self._gather()

    def spend(self, seconds: float, load: float = 1.0) -> None:
        """Let time pass, busy or idle."""
        self.now_s += seconds
        for influence in self.influences:
            influence.advance(seconds, load, self.draw)
        self._gather()

    def waits(self, times_ns: Times) -> Times:
        """Draw how long each iteration waits for a CPU, in ns, by its running time."""
        found = np.zeros_like(times_ns)
        for influence in self.influences:
            if isinstance(influence, Waits):
                found += influence.hits(times_ns, self.noise)
        return found

    def _gather(self) -> None:
        """Combine all influences."""
        self.slowness = math.prod(influence.factor for influence in self.influences)


def build(kind: Kind, seed: int) -> Machine:
    """Build a machine of a kind; the same seed gives the same machine and the same future."""
    draw = random.Random(f"{kind.name}/{seed}")
    noise = np.random.Generator(np.random.SFC64(draw.getrandbits(63)))
    return Machine(kind=kind, draw=draw, noise=noise, influences=[copy.copy(one) for one in kind.influences])


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """The machine's time; the machine idles while the clock sleeps."""

    machine: Machine

    def now_ns(self) -> int:
        """Read the machine's time."""
        return int(self.machine.now_s * 1e9)

    def sleep(self, seconds: float) -> None:
        """Let the machine idle."""
        self.machine.spend(seconds, load=0.0)


@dataclass(slots=True, kw_only=True)
class VirtualRunner:
    """One process start of one case."""

    machine: Machine
    case: VirtualCase
    level_ns: float
    """Time of one call in this process on the undisturbed machine: truth and layout."""
    core: float
    anchor_ns: float
    second_mode: float
    """Share of iterations in the second mode."""
    load_ns: int | None
    tick_ns: float
    after_round: bool = True
    wall_ns: float = 0.0
    """Of the latest round."""
    waited_ns: float = 0.0

    def run(self, iterations: int, inner_loops: int) -> list[float]:
        """Run and time iterations: (iterations,) ns each, divided by inner loops."""
        machine, texture = self.machine, self.machine.kind.texture
        noise = machine.noise
        if machine.draw.random() < machine.kind.cores.moves:
            self.core = machine.kind.cores.draw(machine.draw)
        times = np.exp(noise.standard_normal(iterations) * texture.jitter)
        hit = noise.random(iterations)
        spikes = hit < texture.spike_chance
        if spikes.any():
            height = noise.uniform(texture.spike_low, texture.spike_high, iterations)
            times[spikes] += height[spikes] / inner_loops
        if texture.mode_gap:
            times[hit > 1 - self.second_mode] += texture.mode_gap
        times *= self.level_ns * self.core
        self._live_through(times, inner_loops)
        # A clock shows whole ticks; an iteration begins at a random time within a tick.
        ticks = np.floor(times * (inner_loops / self.tick_ns) + noise.random(iterations))
        self.after_round = True
        shown: list[float] = (np.maximum(ticks, 1.0) * (self.tick_ns / inner_loops)).tolist()
        return shown

    def _live_through(self, times: Times, inner_loops: int) -> None:
        """Slow the iterations down in place, according to the machine while they run."""
        machine, sensitivity = self.machine, self.case.sensitivity
        count = len(times)
        length_s = float(times.sum()) * inner_loops / 1e9
        chunks = min(count, max(1, round(length_s * machine.slowness / CHUNK_S)))
        self.waited_ns = 0.0
        for chunk in range(chunks):
            part = slice(chunk * count // chunks, (chunk + 1) * count // chunks)
            times[part] *= machine.slowness**sensitivity
            waits_ns = machine.waits(times[part] * inner_loops)
            self.waited_ns += float(waits_ns.sum())
            times[part] += waits_ns / inner_loops
            machine.spend(float(times[part].sum()) * inner_loops / 1e9)
        self.wall_ns = float(times.sum()) * inner_loops

    def anchor(self) -> int:
        """Time the anchor kernel once: 2 to 19 % slower right after a round, then steady."""
        draw = self.machine.draw
        cold = 1 + draw.uniform(*AFTER_ROUND) if self.after_round else 1.0
        self.after_round = False
        value = self.anchor_ns * self.core * self.machine.slowness * (1 + draw.gauss(0, ANCHOR_JITTER)) * cold
        value += float(self.machine.waits(np.array([value]))[0])
        self.machine.now_s += value / 1e9
        return max(1, round(value / self.tick_ns)) * round(self.tick_ns)

    def round_context(self) -> RoundContext:
        """Return what the kernel would report about the latest round."""
        return RoundContext(wall_ns=round(self.wall_ns), waited_ns=round(self.waited_ns))

    def memory(self, iterations: int) -> Memory:  # noqa: ARG002 - sizes do not depend on it
        """Measure memory in a separate pass: allocators round sizes, the page cache varies."""
        draw = self.machine.draw
        baseline = round(60 * MIB * (1 + draw.gauss(0, 0.004)))
        peak = baseline + round(self.case.peak_mib * MIB * (1 + abs(draw.gauss(0, 0.004))))
        return Memory(baseline=baseline, loaded=None, peak=peak)


@dataclass(slots=True, kw_only=True)
class VirtualTarget:
    """A virtual device as a target of the plugin: every start is a new process on it."""

    machine: Machine
    cases: Mapping[str, VirtualCase]
    slower: Mapping[str, float] = field(default_factory=dict)
    """The truth: the slowdown of a case, as a fraction."""
    device: Device = field(default_factory=lambda: Device(kind="virtual", model="arithmetic"))

    def look(self) -> Context:
        """Return a context without sensors, but with the identity of the anchor kernel."""
        return Context(at_ns=int(self.machine.now_s * 1e9), anchor="virtual kernel 1")

    @contextmanager
    def start(self, workload: Workload, process: int) -> Iterator[VirtualRunner]:  # noqa: ARG002 - all starts are alike
        """Start a process: it draws a core and a layout, and keeps the machine busy for a while."""
        if not isinstance(workload, Command):
            raise Unsupported("a virtual device runs its own cases alone")
        case = self.cases[workload.argv[0]]
        machine, draw, kind = self.machine, self.machine.draw, self.machine.kind
        core = kind.cores.draw(draw)
        layout = kind.offsets.draw(draw)
        load_ns = (case.load_ns or 0.0) * machine.slowness * core * math.exp(abs(draw.gauss(0, LOAD_SPREAD)))
        machine.spend(START_S + load_ns / 1e9)
        yield VirtualRunner(
            machine=machine,
            case=case,
            level_ns=case.base_ns * (1 + self.slower.get(case.id, 0.0)) * layout,
            core=core,
            anchor_ns=ANCHOR_NS * (1 + draw.gauss(0, kind.anchor_offset)),
            second_mode=draw.uniform(*kind.texture.mode_share),
            load_ns=round(load_ns) if case.load_ns else None,
            tick_ns=kind.tick_ns,
        )
