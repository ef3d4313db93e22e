"""Compute how a phone warms up, throttles and discharges: pure arithmetic over time.

Three bodies exchange heat: the die (seconds), the skin (minutes) and the battery (minutes, and read only
occasionally). Power depends on load and clock, the skin's thresholds determine the thermal status, and the status
caps the clock. Every function takes a state and returns the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

STEP_S = 0.5
"""Longest integration step: a tenth of the smallest time constant, so that Euler's method stays stable."""

POWER_EXPONENT = 2.2
"""Exponent of power over clock: between 2 and 3 on real cores, since the voltage drops with the clock."""

HYSTERESIS_C = 1.0
"""Temperature below a threshold at which the status drops again; real thermal configurations use 1 to 2 °C."""

SEVERITIES = 7
"""Thermal statuses run from 0 (none) to 6 (shutdown)."""

FULL_PERCENT = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One frequency policy and its cores."""

    cpus: tuple[int, ...]
    """Its cores; the first one is the name of the policy."""
    steps_khz: tuple[int, ...]
    """Available clocks, ascending."""
    pinned_khz: int
    """Its cap in fixed-performance mode."""
    watts: float
    """Power of one core at the highest clock."""
    idle_cap_khz: int | None = None
    """The vendor's own cap while idle; None: no cap."""

    @property
    def policy(self) -> str:
        """Name of the folder."""
        return f"policy{self.cpus[0]}"

    def cap_khz(self, fraction: float) -> int:
        """Return the highest step within a fraction of the highest clock."""
        allowed = [step for step in self.steps_khz if step <= self.steps_khz[-1] * fraction + 1]
        return allowed[-1] if allowed else self.steps_khz[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The thermal properties of a phone."""

    clusters: tuple[Cluster, ...]
    skin_limits_c: tuple[float, ...] = (37.0, 39.5, 42.0, 45.0, 48.0, 52.0)
    """Skin temperatures from which status 1, 2, … 6 applies."""
    caps: tuple[float, ...] = (1.0, 0.92, 0.78, 0.62, 0.45, 0.35, 0.3)
    """Share of the highest clock allowed at each status."""
    silent_cap_c: float | None = None
    """Skin temperature from which the clock is capped without a status; None: never."""
    ambient_c: float = 23.0
    die_j_per_k: float = 3.0
    """Heat capacity of the die and its package."""
    skin_j_per_k: float = 75.0
    battery_j_per_k: float = 55.0
    die_to_skin_w_per_k: float = 0.22
    die_to_battery_w_per_k: float = 0.03
    skin_to_battery_w_per_k: float = 0.12
    skin_to_air_w_per_k: float = 0.22
    battery_to_air_w_per_k: float = 0.11
    idle_watts: float = 0.35
    charging_watts: float = 0.5
    """Heat that charging generates in the battery."""
    battery_refresh_s: float = 20.0
    """Interval between readings of the battery's temperature."""
    battery_wh: float = 17.0

    @property
    def cores(self) -> int:
        """Number of cores."""
        return sum(len(cluster.cpus) for cluster in self.clusters)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A phone at one moment."""

    at_s: float = 0.0
    """Time since it was switched on."""
    die_c: float = 29.0
    skin_c: float = 27.5
    battery_c: float = 27.0
    shown_battery_c: float = 27.0
    """The battery's temperature at its last reading."""
    shown_at_s: float = 0.0
    level_percent: float = 82.0
    plugged: bool = True
    """Whether the cable supplies power."""
    status: int = 0
    """Thermal status, 0 to 6."""
    load_cores: float = 0.0
    """Number of busy cores in the last step."""
    busy_s: float = 0.0
    """Core-seconds of work so far."""
    pinned: bool = False
    """Whether fixed-performance mode pins the clocks."""
    pinned_until_s: float | None = None
    """When that mode ends by itself; None: never."""
    vendor_cap: float | None = None
    """Share of the highest clock that the vendor allows for its own reasons; None: all."""
    screen_on: bool = True
    battery_saver: bool = False
    status_override: int | None = None
    """An overridden thermal status; the phone reports it, but the heat is unaffected."""
    updates_stopped: bool = False
    """Whether the battery's readings are overridden."""
    faked_battery_c: float | None = None
    """The overridden battery temperature; None: the last reading."""
    settings: dict[str, str] = field(default_factory=dict)
    """Values set by `settings put`, `namespace/key` -> value. Replaced, never changed in place."""


def advance(state: State, body: Body, seconds: float, load_cores: float) -> State:
    """Let time pass with a constant load.

    Args:
        state: The phone before.
        body: Its thermal properties.
        seconds: Time that passes, 0 or more.
        load_cores: Number of busy cores, biggest cores first.
    """
    left = max(0.0, seconds)
    while left > 0.0:
        step_s = min(STEP_S, left)
        state = _step(state, body, step_s, min(load_cores, float(body.cores)))
        left -= step_s
    return state


def _step(state: State, body: Body, step_s: float, load_cores: float) -> State:
    """Exchange heat for one short step."""
    die_skin = (state.die_c - state.skin_c) * body.die_to_skin_w_per_k
    die_battery = (state.die_c - state.battery_c) * body.die_to_battery_w_per_k
    skin_battery = (state.skin_c - state.battery_c) * body.skin_to_battery_w_per_k
    skin_air = (state.skin_c - body.ambient_c) * body.skin_to_air_w_per_k
    battery_air = (state.battery_c - body.ambient_c) * body.battery_to_air_w_per_k
    watts = power_w(state, body, load_cores)
    charging_w = body.charging_watts if state.plugged and state.level_percent < FULL_PERCENT else 0.0
    die_c = state.die_c + (watts - die_skin - die_battery) * step_s / body.die_j_per_k
    skin_c = state.skin_c + (die_skin - skin_battery - skin_air) * step_s / body.skin_j_per_k
    gained_w = die_battery + skin_battery + charging_w - battery_air
    battery_c = state.battery_c + gained_w * step_s / body.battery_j_per_k
    at_s = state.at_s + step_s
    fresh = at_s - state.shown_at_s >= body.battery_refresh_s
    return replace(
        state,
        at_s=at_s,
        die_c=die_c,
        skin_c=skin_c,
        battery_c=battery_c,
        shown_battery_c=battery_c if fresh else state.shown_battery_c,
        shown_at_s=at_s if fresh else state.shown_at_s,
        level_percent=_level(state, body, watts, step_s),
        status=_status(state.status, skin_c, body),
        pinned=state.pinned and (state.pinned_until_s is None or at_s < state.pinned_until_s),
        load_cores=load_cores,
        busy_s=state.busy_s + load_cores * step_s,
    )


def power_w(state: State, body: Body, load_cores: float) -> float:
    """Return the power that the die turns into heat; the biggest cores take the load first."""
    watts, left = body.idle_watts, load_cores
    for cluster, cap_khz in reversed(tuple(zip(body.clusters, caps_khz(state, body), strict=True))):
        cores = min(left, float(len(cluster.cpus)))
        watts += cores * cluster.watts * (cap_khz / cluster.steps_khz[-1]) ** POWER_EXPONENT
        left -= cores
    return watts


def caps_khz(state: State, body: Body) -> tuple[int, ...]:
    """Return the value of `scaling_max_freq` per cluster: the lowest of all active caps."""
    fraction = body.caps[state.status]
    if body.silent_cap_c is not None and state.skin_c >= body.silent_cap_c:
        fraction = min(fraction, body.caps[2])
    if state.vendor_cap is not None:
        fraction = min(fraction, state.vendor_cap)
    caps = []
    for cluster in body.clusters:
        cap = cluster.cap_khz(fraction)
        if state.pinned:
            cap = min(cap, cluster.pinned_khz)
        elif cluster.idle_cap_khz is not None and state.load_cores < 1.0:
            cap = min(cap, cluster.idle_cap_khz)
        caps.append(cap)
    return tuple(caps)


def clocks_khz(state: State, body: Body) -> tuple[int, ...]:
    """Return `scaling_cur_freq` per cluster: the lowest step if idle, else the cap, or the pinned clock."""
    clocks, left = [], state.load_cores
    for cluster, cap_khz in reversed(tuple(zip(body.clusters, caps_khz(state, body), strict=True))):
        share = min(1.0, left / len(cluster.cpus))
        busy = 1.0 if state.pinned else min(1.0, share * len(cluster.cpus))
        left = max(0.0, left - len(cluster.cpus))
        wanted = cluster.steps_khz[0] + busy * (cap_khz - cluster.steps_khz[0])
        clocks.append(min((s for s in cluster.steps_khz if s <= cap_khz), key=lambda step: abs(step - wanted)))
    return tuple(reversed(clocks))


def slowdown(state: State, body: Body, cpus: frozenset[int] | None = None) -> float:
    """Return how many times as long work takes, compared to the biggest core's highest clock, 1 or more.

    Args:
        state: The phone now; its idle cap is lifted as soon as work begins.
        body: Its thermal properties.
        cpus: Cores that the work may run on; None: all. The fastest one counts.
    """
    working = replace(state, load_cores=max(1.0, state.load_cores))
    speeds = [
        cap_khz * cluster.watts**0.5
        for cluster, cap_khz in zip(body.clusters, caps_khz(working, body), strict=True)
        if cpus is None or cpus & frozenset(cluster.cpus)
    ]
    best = max(cluster.steps_khz[-1] * cluster.watts**0.5 for cluster in body.clusters)
    # A bigger core does more per cycle and draws more power for it; the square root of the power is a fair estimate.
    return best / max(speeds) if speeds else 1.0


def _status(before: int, skin_c: float, body: Body) -> int:
    """Raise the status at its threshold, and lower it only if the skin is clearly below."""
    reached = sum(skin_c >= limit for limit in body.skin_limits_c)
    kept = sum(skin_c >= limit - HYSTERESIS_C for limit in body.skin_limits_c)
    return max(reached, min(before, kept))


def _level(state: State, body: Body, watts: float, step_s: float) -> float:
    """Charge or discharge; a full phone on the cable stays full."""
    charge_w = 5.0 if state.plugged else 0.0  # a computer's port supplies about 5 W
    gained_wh = (charge_w - watts) * step_s / 3600.0
    return min(FULL_PERCENT, max(1.0, state.level_percent + FULL_PERCENT * gained_wh / body.battery_wh))
