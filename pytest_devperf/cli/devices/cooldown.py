"""Wait until a device has cooled down, and show its temperature in the meantime."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from pytest_devperf.cli.arguments import seconds
from pytest_devperf.cli.devices.open import add_target, open_device
from pytest_devperf.cli.output import echo, show_live
from pytest_devperf.measure.cooldown import CEILING_S, FLOOR_S, Cooling, cool, parse_cooldown
from pytest_devperf.report.terminal.live import format_cooling

EXAMPLES = ("devperf cooldown --target android",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_target(parser, default="auto")
    parser.add_argument("--cooldown", default="auto", metavar="auto|SECONDS|temp=C", help="what to wait for")
    parser.add_argument("--floor", type=seconds, default=FLOOR_S, metavar="SECONDS", help="shortest wait for a plateau")
    parser.add_argument("--max", type=seconds, default=CEILING_S, metavar="SECONDS", help="longest wait")


def run(arguments: argparse.Namespace) -> int:
    """Wait, and print how the wait ended. Return 1 if it reached its maximum."""
    mode = parse_cooldown(arguments.cooldown)
    last: Cooling | None = None
    with ExitStack() as stack:
        opened = open_device(arguments.target, stack)
        target = opened.target
        for last in cool(
            target.look,
            opened.clock,
            mode=mode,
            kind=target.device.kind,
            floor_s=arguments.floor,
            ceiling_s=arguments.max,
        ):
            show_live(f"{target.device.name}: {format_cooling(last)}")
        show_live("")
        if last is not None:
            echo(f"{target.device.name}: {format_cooling(last)}")
    return 1 if last is not None and last.timed_out else 0
