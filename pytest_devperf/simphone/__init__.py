"""A phone made of arithmetic behind the genuine adb: a suite can be tried without a phone.

It speaks the daemon's side of the adb protocol over TCP, so that the real adb server and adbutils drive it,
and what is pushed to it really runs, on this machine, under this machine's ABI (`ro.product.cpu.abi` says
so, and `ro.devperf.simulated` names the personality: nothing measured here can pass for a real phone's).

    with simulated_phone("pixel-tensor") as phone:
        device = adbutils.AdbClient(port=phone.server_port).device(serial=phone.serial)
        device.shell2("dumpsys battery", v2=True)
        phone.advance(600, load_cores=8)     # ten minutes of work in no time: it throttles
        phone.slow_down(1.25)                # a regression to be found

**How its state slows work down.** Every command finds `DEVPERF_SIM_SLOWDOWN` in its environment: the path of
a file that holds a number, 1 or more, refreshed every 0.2 s. A program that measures multiplies the times it
reports by that number, and reads it anew before each burst; where the variable is unset the number is 1.
`DEVPERF_SIM_CLOCKS` names the part of it that the clocks explain; an anchor multiplies by that. Nothing else is
stretched: a program that does not know the variables runs at this machine's speed. `taskset MASK command` points
them at files for those cores.

**Where commands run.** On Linux, in a file system, a network and among processes of the phone's own, which hold
nothing of this machine but single programs and libraries (`lent.py`): what was not pushed is not there. Commands run
as the user `shell`, by mksh and toybox if this machine has them. Where the kernel allows no namespaces, and on other
systems, the phone is a folder of this machine and paths are translated in what is asked and printed
(`translate.py`); `SimPhone.barrier` says why. `docs/decisions/0015` says what was decided. There is no terminal: `adb
shell` without a command reads its commands from stdin, without a prompt.

**Heat is real.** While a shell command runs, the CPU time it and its children really use warms the phone.
"""

from pytest_devperf.simphone.family import PERSONALITIES
from pytest_devperf.simphone.mishap import MISHAPS
from pytest_devperf.simphone.phone import SimClock, SimPhone, parse_spec, simulated_phone
from pytest_devperf.simphone.server import AdbServer

__all__ = ["MISHAPS", "PERSONALITIES", "AdbServer", "SimClock", "SimPhone", "parse_spec", "simulated_phone"]
