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
Nothing else is stretched: a program that does not know the variable runs at this machine's speed. `taskset
MASK command` points the variable at a file for those cores.

**Where commands run.** In a folder made for the phone, by this machine's `/bin/sh`. Absolute paths of the
phone (`/data`, `/sdcard`, `/sys`, `/system`, and the files of `/proc` that speak of the machine) are
translated in the command's text, in script files given to `sh`, and back in what is printed. No root, no
mount, no bubblewrap: it is the same on every system. What that cannot do: a path that a program makes up by
itself or gets from its own files leads to this machine's root, so it is no prison for programs that are not
trusted; a pushed script must be started as `sh FILE`, since `/system/bin/sh` in its first line does not
exist here; there is no terminal (`adb shell` without a command reads its commands from stdin, without a
prompt).

**Heat is real.** While a shell command runs, the CPU time it and its children really use warms the phone.
"""

from pytest_devperf.simphone.family import PERSONALITIES
from pytest_devperf.simphone.mishap import MISHAPS
from pytest_devperf.simphone.phone import SimClock, SimPhone, parse_spec, simulated_phone
from pytest_devperf.simphone.server import AdbServer

__all__ = ["MISHAPS", "PERSONALITIES", "AdbServer", "SimClock", "SimPhone", "parse_spec", "simulated_phone"]
