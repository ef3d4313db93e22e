"""Simulate a phone's state over time: the only mutable state of a simulation, protected by one lock."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from pytest_devperf.errors import UsageError
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.simphone.state import physics
from pytest_devperf.simphone.state.mishap import Mishap
from pytest_devperf.simphone.state.personality import Personality
from pytest_devperf.simphone.state.physics import State


class Simulation:
    """A simulation of a phone: its time is real time times `speed`, plus jumps.

    Args:
        person: The family it belongs to.
        mishap: What goes wrong.
        speed: Seconds that pass on the phone per real second.
    """

    def __init__(self, person: Personality, mishap: Mishap, speed: float = 1.0) -> None:
        if speed <= 0:
            raise UsageError(f"a simulated phone cannot run at speed {speed}", "name a number above 0")
        ambient_c = person.body.ambient_c if mishap.ambient_c is None else mishap.ambient_c
        self.person = replace(person, body=replace(person.body, ambient_c=ambient_c))
        self.mishap = mishap
        self.speed = speed
        self._lock = threading.Lock()
        self._seen_ns = time.monotonic_ns()
        self._load_cores = 0.0
        self._slower = 1.0
        settled = State(
            # the steady state of an idle phone of this family on a cable
            die_c=ambient_c + 4.0,
            skin_c=ambient_c + 2.4,
            battery_c=ambient_c + 3.5,
            shown_battery_c=ambient_c + 3.5,
        )
        self._state = replace(settled, **mishap.state)

    def look(self) -> State:
        """Advance to the current time, and return the state."""
        with self._lock:
            return self._catch_up()

    def advance(self, seconds: float, load_cores: float = 0.0) -> State:
        """Let time pass at once.

        Args:
            seconds: Time on the phone.
            load_cores: Number of busy cores during that time.
        """
        with self._lock:
            self._catch_up()
            self._state = physics.advance(self._state, self.person.body, seconds, load_cores)
            return self._state

    def change(self, **fields: Any) -> State:
        """Change fields of the state: unplug the cable, warm the skin, write a setting."""
        with self._lock:
            self._state = replace(self._catch_up(), **fields)
            return self._state

    def work(self, load_cores: float) -> None:
        """Set the number of busy cores from now on."""
        with self._lock:
            self._catch_up()
            self._load_cores = load_cores

    def slow_down(self, factor: float) -> None:
        """Make all work take this many times as long, independent of the clocks."""
        with self._lock:
            self._slower = factor

    def clock_slowdown(self, cpus: frozenset[int] | None = None) -> float:
        """Return how many times as long work takes because of the clocks alone."""
        with self._lock:
            return physics.slowdown(self._catch_up(), self.person.body, cpus)

    def slowdown(self, cpus: frozenset[int] | None = None) -> float:
        """Return how many times as long work takes now, compared to the highest speed of the phone."""
        with self._lock:
            return self._slower * physics.slowdown(self._catch_up(), self.person.body, cpus)

    def _catch_up(self) -> State:
        now_ns = time.monotonic_ns()
        passed_s = (now_ns - self._seen_ns) / NS_PER_S * self.speed
        self._seen_ns = now_ns
        self._state = physics.advance(self._state, self.person.body, passed_s, self._load_cores)
        return self._state
