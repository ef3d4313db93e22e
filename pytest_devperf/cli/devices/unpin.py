"""Undo changes that devperf left on a phone: fixed clocks, the screen kept on, its folder.

A session undoes them itself, even if it is interrupted; use this for a phone that was disconnected at that moment.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from pytest_devperf.cli.devices.open import add_target, open_device
from pytest_devperf.cli.output import echo
from pytest_devperf.errors import UsageError
from pytest_devperf.targets.android.target import AndroidTarget

EXAMPLES = ("devperf unpin",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_target(parser, default="android")


def run(arguments: argparse.Namespace) -> int:
    """Undo the changes, and print them."""
    with ExitStack() as stack:
        target = open_device(arguments.target, stack).target
        if not isinstance(target, AndroidTarget):
            raise UsageError(f"nothing is pinned on {target.device.name}", "name a phone: --target android")
        echo(f"{target.device.name}: {target.restore()}")
    return 0
