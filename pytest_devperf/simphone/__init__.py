"""Simulate a phone behind the genuine adb, so that a suite can be tried without a phone.

The simulation implements the daemon side of the adb protocol over TCP, so the real adb server and adbutils control it.
Programs pushed to it really run, on this machine, under this machine's ABI. `ro.product.cpu.abi` reports that ABI, and
`ro.devperf.simulated` the personality, so measurements cannot be mistaken for those of a real phone.

    with simulated_phone("pixel-tensor") as phone:
        device = adbutils.AdbClient(port=phone.server_port).device(serial=phone.serial)
        device.shell2("dumpsys battery", v2=True)
        phone.advance(600, load_cores=8)  # ten minutes of work without waiting: it throttles
        phone.slow_down(1.25)             # a regression to detect

**How its state slows work down.** Every command has `DEVPERF_SIM_SLOWDOWN` in its environment: the path of
a file that contains a number, 1 or more, updated every 0.2 s. A measuring program multiplies the times it
reports by that number and reads it again before each burst; without the variable the number is 1.
`DEVPERF_SIM_CLOCKS` names a file with the part of it that is caused by the clocks; an anchor multiplies by that part.
Nothing else is slowed down: a program that does not use the variables runs at this machine's speed. `taskset MASK
command` sets them to files for those cores.

**Where commands run.** On Linux, the phone has its own file system, network and processes, which contain
nothing of this machine except some programs and libraries (`host_files.py`): files that were not pushed do not exist.
Commands run as the user `shell`, with mksh and toybox if this machine has them. If the kernel allows no namespaces,
and on other systems, the phone is a folder of this machine, and paths in commands and output are translated
(`translate.py`); `SimPhone.barrier` is the reason. See `docs/decisions/0015`. There is no terminal: `adb shell`
without a command reads commands from stdin, without a prompt.

**Heat is real.** While a shell command runs, the CPU time that it and its children use warms the phone.
"""

from pytest_devperf.simphone.adb.server import AdbServer
from pytest_devperf.simphone.phone import SimClock, SimPhone, parse_spec, simulated_phone
from pytest_devperf.simphone.state.family import PERSONALITIES
from pytest_devperf.simphone.state.mishap import MISHAPS

__all__ = ["MISHAPS", "PERSONALITIES", "AdbServer", "SimClock", "SimPhone", "parse_spec", "simulated_phone"]
