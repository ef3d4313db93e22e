"""Read this machine's sensors before, between and after rounds."""

from __future__ import annotations

import importlib
import platform
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from pytest_devperf.sensor.context import Context

if TYPE_CHECKING:
    from pytest_devperf.sensor.host.nvml import Gpu
    from pytest_devperf.sensor.proc import CpuTimes

MIN_TICKS = 10
"""Fewest clock ticks of all CPUs between two looks for a percentage: one tick (10 ms) is then a tenth."""

IDLE_SAMPLE_S = 0.5
"""Duration of the idle sample before a run: 100 ticks on two CPUs, and short enough to wait for."""


class Waiting(Protocol):
    """A clock that can wait."""

    def now_ns(self) -> int:
        """Return the time of a monotonic clock."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Sensors(Protocol):
    """The sensors of one operating system; every reading is None or empty if not known."""

    def cpu_times(self) -> CpuTimes | None:
        """Read the CPU times of all CPUs since boot."""
        ...

    def look(self, *, quick: bool) -> Context:
        """Read everything but the CPU use; a quick look reads only cheap sensors that change within seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slow:
    """Readings made only by full looks, kept for the quick ones between."""

    power_state: str | None = None
    power_plan: str | None = None
    charging: bool | None = None
    battery_pct: float | None = None
    env: dict[str, str | None] = field(default_factory=dict)


class Machine:
    """The sensors of this machine; rates cover the time since the previous look.

    A look takes well under 2 ms on Linux. A quick look, for the pause between two rounds, reads only
    what changes within seconds and wakes no device. Not thread-safe.

    Args:
        sensors: The source of the readings; None: this operating system.
    """

    def __init__(self, sensors: Sensors | None = None) -> None:
        self._sensors = sensors if sensors is not None else _own_sensors()
        self._gpu = _open_gpu()
        self._times = self._sensors.cpu_times()
        self._throttle_count: int | None = None
        self._slow: _Slow | None = None

    def look(self, at_ns: int, *, quick: bool = False) -> Context:
        """Read the sensors.

        Args:
            at_ns: The session clock's time, kept in the context.
            quick: Skip sensors that are slow or disturb the measurement (power supply and plan, temperatures of disks,
                software versions), and repeat their latest readings. For looks between rounds.

        Returns:
            The readings. `cpu_pct` is None if the previous look was less than a few clock ticks ago; the next
            one then covers both intervals.
        """
        quick = quick and self._slow is not None
        seen = self._sensors.look(quick=quick)
        seen = self._kept(seen) if quick else self._keep(seen)
        gpu = self._gpu.look() if self._gpu is not None else None
        if gpu is not None:
            seen = replace(
                seen,
                adapter_util_pct=gpu.util_pct if seen.adapter_util_pct is None else seen.adapter_util_pct,
                device_mem_local_mb=gpu.used_mb if seen.device_mem_local_mb is None else seen.device_mem_local_mb,
                temps_c={**seen.temps_c, **gpu.temps_c},
            )
        cpu_pct, stolen_pct = self._cpu_pcts()
        throttled = self._throttled(seen)
        return replace(seen, at_ns=at_ns, pinned=False, cpu_pct=cpu_pct, stolen_pct=stolen_pct, throttled=throttled)

    def prerun(self, clock: Waiting, seconds: float = IDLE_SAMPLE_S) -> Context:
        """Measure the idle machine for a moment: `cpu_pct` is the CPU use of everything else.

        Args:
            clock: Waits; the machine's own counters do the timing.
            seconds: Duration of the sample.
        """
        self._times = self._sensors.cpu_times()
        clock.sleep(seconds)
        return self.look(clock.now_ns())

    def _cpu_pcts(self) -> tuple[float | None, float | None]:
        """Return the shares of CPU time since the previous look that were used, and that a hypervisor took."""
        now, before = self._sensors.cpu_times(), self._times
        if now is None or before is None:
            self._times = now
            return None, None
        total = now.total - before.total
        if total < MIN_TICKS:
            return None, None
        self._times = now
        stolen = None if now.stolen is None or before.stolen is None else now.stolen - before.stolen
        return _percent(now.busy - before.busy, total), None if stolen is None else _percent(stolen, total)

    def _throttled(self, seen: Context) -> bool | None:
        before, self._throttle_count = self._throttle_count, seen.throttle_count
        if before is None or seen.throttle_count is None:
            return seen.throttled
        return seen.throttle_count > before or bool(seen.throttled)

    def _keep(self, seen: Context) -> Context:
        driver = self._gpu.driver if self._gpu is not None else None
        known = self._slow.env if self._slow is not None else _software()
        env = {**known, "driver": driver or seen.env.get("driver")}
        self._slow = _Slow(
            power_state=seen.power_state,
            power_plan=seen.power_plan,
            charging=seen.charging,
            battery_pct=seen.battery_pct,
            env=env,
        )
        return replace(seen, env=env)

    def _kept(self, seen: Context) -> Context:
        slow = self._slow
        assert slow is not None
        return replace(
            seen,
            power_state=slow.power_state,
            power_plan=slow.power_plan,
            charging=slow.charging,
            battery_pct=slow.battery_pct,
            env=slow.env,
        )


def _percent(part: int, whole: int) -> float:
    """Calculate a share in percent; counters of a virtual machine may run backwards, so it is limited to 0 to 100."""
    return min(100.0, max(0.0, 100 * part / whole))


def _open_gpu() -> Gpu | None:
    """Open the GPUs; return None without the binding, the driver or a GPU."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    from pytest_devperf.sensor.host.nvml import open_gpu  # few machines have the binding

    return open_gpu(nvml)


def _own_sensors() -> Sensors:
    """Return this operating system's sensors; modules for others are not imported, which saves time."""
    if sys.platform == "win32":
        from pytest_devperf.sensor.host.windows import WindowsSensors

        return WindowsSensors()
    if sys.platform == "darwin":
        from pytest_devperf.sensor.host.macos import MacSensors

        return MacSensors()
    from pytest_devperf.sensor.host.linux import LinuxSensors

    return LinuxSensors()


def _software() -> dict[str, str | None]:
    return {"os": os_name(), "driver": None, "python": python_name()}


def os_name() -> str:
    """Name the operating system and its kernel: `Debian GNU/Linux 12 (bookworm), Linux 6.1.0`."""
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}, Darwin {platform.release()}"
    if sys.platform == "win32":
        return f"Windows {platform.release()} {platform.version()}"
    kernel = f"{platform.system()} {platform.release()}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def python_name() -> str:
    """Name the interpreter: `3.11.7`, `3.14.0t` without a GIL, `PyPy 3.10.14` if it is not CPython."""
    # The attribute exists since 3.13; older interpreters always have a GIL.
    free = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else "t"
    implementation = platform.python_implementation()
    return f"{'' if implementation == 'CPython' else implementation + ' '}{platform.python_version()}{free}"
