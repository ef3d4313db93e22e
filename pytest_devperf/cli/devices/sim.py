"""Run a simulated phone until Ctrl-C, for adb to connect to.

The personality is the family of phones to simulate, the mishap is what goes wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
import signal
import time
from collections.abc import Iterator
from types import FrameType

from pytest_devperf.cli.output import echo
from pytest_devperf.errors import UsageError
from pytest_devperf.simphone import MISHAPS, PERSONALITIES, SimPhone
from pytest_devperf.simphone.adb.server import adb_program

LOOK_S = 0.5
"""Interval at which the thermal status is checked for changes."""


EXAMPLES = ("devperf sim --list", "devperf sim --personality pixel-tensor")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the phone and its mishap."""
    parser.add_argument("--personality", default="pixel-tensor", metavar="NAME", help="family (default: pixel-tensor)")
    parser.add_argument("--mishap", metavar="NAME", help="what goes wrong (default: nothing)")
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="seconds that pass on the phone per real second"
    )
    parser.add_argument("--list", action="store_true", help="list the families and mishaps, and exit")


def run(arguments: argparse.Namespace) -> int:
    """Run the phone until Ctrl-C."""
    if arguments.list:
        echo(_names())
        return 0
    with (
        SimPhone(personality=arguments.personality, mishap=arguments.mishap, speed=arguments.speed) as phone,
        _ended_by_signals(),
    ):
        echo(_welcome(phone))
        _print_changes(phone)
    return 0


def _names() -> str:
    width = max(map(len, (*PERSONALITIES, *MISHAPS)))
    return "\n".join(
        (
            "families (--personality NAME)",
            *(f"  {name:{width}}  {person.words}" for name, person in PERSONALITIES.items()),
            "mishaps (--mishap NAME)",
            *(f"  {name:{width}}  {mishap.words}" for name, mishap in MISHAPS.items()),
        )
    )


def _welcome(phone: SimPhone) -> str:
    person, mishap = phone.personality, phone.simulation.mishap
    lines = [f"{person.manufacturer} {person.model} (simulated, {person.name}) listens on {phone.address}"]
    if mishap.name in MISHAPS:
        lines.append(f"mishap     {mishap.name}: {mishap.words}")
    lines += [
        f"connect    {_adb()} connect {phone.address}",
        f"measure    pytest --devperf --devperf-target=android:{phone.address}",
        f"disconnect {_adb()} disconnect {phone.address}",
        "Ctrl-C switches it off.",
    ]
    if phone.warning is not None:
        lines.append(f"note       {phone.warning}")
    return "\n".join(lines)


def _adb() -> str:
    """Return the command for adb: its name if PATH contains it, else its path; `adb` if it is not installed."""
    if shutil.which("adb"):
        return "adb"
    try:
        return shlex.quote(adb_program())
    except UsageError:
        return "adb"


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP end the phone cleanly; ignored signals (nohup) stay ignored."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signals = [signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)]
    before = {number: signal.signal(number, stop) for number in signals if signal.getsignal(number) != signal.SIG_IGN}
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_changes(phone: SimPhone) -> None:
    """Wait forever, and print when the phone starts or stops throttling."""
    shown = phone.state.status
    while True:
        time.sleep(LOOK_S)
        state = phone.state
        if state.status != shown:
            shown = state.status
            echo(f"thermal status {shown}: skin {state.skin_c:.1f} °C, battery {state.battery_c:.1f} °C")
