"""Wait until a device has cooled down, showing temperature and slope as they go."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from pytest_devperf.cli.device import add_target, open_device
from pytest_devperf.cli.output import say
from pytest_devperf.measure.cooldown import CEILING_S, FLOOR_S, Cooling, cool, parse_cooldown
from pytest_devperf.target.clock import SystemClock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser, default="auto")
    parser.add_argument("--cooldown", default="auto", metavar="auto|SECONDS|temp=C", help="what is waited for")
    parser.add_argument("--floor", type=float, default=FLOOR_S, metavar="SECONDS", help="least wait for a plateau")
    parser.add_argument("--max", type=float, default=CEILING_S, metavar="SECONDS", help="longest wait")


def run(arguments: argparse.Namespace) -> int:
    """Wait; tell how it ended. A wait that was cut off by its ceiling gives 1."""
    mode = parse_cooldown(arguments.cooldown)
    last: Cooling | None = None
    with ExitStack() as stack:
        target = open_device(arguments.target, stack)
        for last in cool(
            target.look,
            SystemClock(),
            mode=mode,
            kind=target.device.kind,
            floor_s=arguments.floor,
            ceiling_s=arguments.max,
        ):
            _show(f"{target.device.name}: {format_cooling(last)}")
        _show("")
        if last is not None:
            say(f"{target.device.name}: {format_cooling(last)}")
    return 1 if last is not None and last.timed_out else 0


def format_cooling(step: Cooling) -> str:
    """Say in one line how a wait stands."""
    words = ["temperature unknown" if step.temp_c is None else f"{step.temp_c:.1f} °C"]
    if step.slope_c_per_min is not None:
        words.append(f"{step.slope_c_per_min:+.2f} °C/min")
    words.append(f"{step.waited_s:.0f} s waited")
    if step.done:
        words.append("gave up: still warm" if step.timed_out else "cool")
    else:
        words.append(f"{step.left_s:.0f} s left at most")
    if step.throttled:
        words.append("throttling")
    if step.charging and not step.settled:
        words.append("charging keeps it warm")
    return ", ".join(words)


def _show(line: str) -> None:
    """Draw the live line, where somebody looks at a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
