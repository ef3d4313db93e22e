"""Measure a fixed piece of work in fresh interpreters of this machine.

Run as a program, it measures one process start and prints it as JSON.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys

from pytest_devperf.case.plan import Plan
from pytest_devperf.case.workload import Call
from pytest_devperf.doctor.trial import plan_of_start
from pytest_devperf.errors import TargetError
from pytest_devperf.measure.round import StartResult

VALUES = 4000
"""Numbers that are sorted in each iteration: about half a millisecond, in and out of the caches as usual code is."""

TIMEOUT_S = 60.0
"""Time after which a start that takes a tenth of a second hangs."""


def start_fresh(index: int, cpu: int | None = None) -> StartResult:
    """Measure one process start in a fresh interpreter.

    Args:
        index: Zero-based index of the start.
        cpu: The only CPU that it may use; None: all that this process may use.

    Raises:
        TargetError: It ended without a result.
    """
    import msgspec

    words = [sys.executable, "-m", "pytest_devperf.doctor.host_trial", str(index), "" if cpu is None else str(cpu)]
    # Fresh interpreters of a session have a hash seed of their own, too.
    environment = {**os.environ, "PYTHONHASHSEED": "random", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(words, capture_output=True, check=True, timeout=TIMEOUT_S, env=environment)
        return msgspec.json.decode(done.stdout, type=StartResult)
    except (subprocess.SubprocessError, msgspec.DecodeError) as error:
        raise TargetError("the fixed work could not be measured in a fresh interpreter", str(error)) from error


def last_cpu() -> int | None:
    """Return the CPU to try binding to, the last one; None if this process cannot be bound or has only one."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    return max(allowed) if len(allowed) > 1 else None


def main(index: str, cpu: str) -> None:
    """Measure one process start, and print it."""
    import msgspec

    from pytest_devperf.measure.loop import RoundHooks, run_start
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.clock import SystemClock
    from pytest_devperf.targets.device import Device
    from pytest_devperf.targets.host.target import HostTarget

    if cpu:
        os.sched_setaffinity(0, {int(cpu)})
    values = random.Random(1).sample(range(10 * VALUES), VALUES)  # noqa: S311 - the same numbers in every start
    clock = SystemClock()
    target = HostTarget(device=Device(kind="host"), clock=clock, look=lambda: Context(at_ns=0))
    with target.start(Call(function=sorted, args=(values,)), int(index)) as runner:
        found = run_start(runner, plan_of_start(int(index)), Plan(), clock, RoundHooks())
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
