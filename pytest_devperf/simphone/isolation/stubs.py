"""The scripts that replace Android's commands on a simulated phone."""

from __future__ import annotations

from collections.abc import Iterable

OWN_WORDS = "devperf-sim"
"""The stub with which other stubs make requests that no Android command has."""

ASK = """#!@SHELL@
# Sends its arguments to the simulated phone and prints the response. A session runs hundreds of these, so they start
# as few programs as possible: the phone deletes the files, which stay open here.
r=@CONTROL@/request.$$
[ -e "$r.done" ] && rm -f "$r".*
mkfifo "$r.done" || exit 126
exec 3<>"$r.done" 4<>"$r.out" 5<>"$r.err"
if [ "${0##*/}" = cmd ] && [ "$1" = package ]; then case " $* " in *" -S "*) cat >/dev/null;; esac; fi
printf '%s\\0' "${0##*/}" "$@" >"$r.words"
echo "$r" >"@CONTROL@/ask"
read -r code out err <&3
[ "$out" = 0 ] || cat <&4
[ "$err" = 0 ] || cat <&5 >&2
exit "$code"
"""

TRANSLATING_SHELL = """#!@SHELL@
# A script file is translated like every command; `sh -c` contains text that is translated already.
case $1 in
  ""|-s) sed -E -f "@CONTROL@/paths.sed" | @SHELL@ -s "$@"; exit $?;;
  -*) exec @SHELL@ "$@";;
esac
[ -f "$1" ] || exec @SHELL@ "$@"
t=@CONTROL@/script.$$
sed -E -f "@CONTROL@/paths.sed" "$1" >"$t"; shift
@SHELL@ "$t" "$@"; code=$?
rm -f "$t"
exit $code
"""

TASKSET = """#!@SHELL@
# The simulated cores are not this machine's: only the speed of the named ones is used.
while [ "$1" = -a ]; do shift; done
if [ "$1" = -p ]; then
  shift; [ $# -gt 1 ] && shift
  echo "pid $1's current affinity mask: $(devperf-sim all-cpus)"; exit 0
fi
DEVPERF_SIM_SLOWDOWN=$(devperf-sim slowdown-file "$1") || exit 1
DEVPERF_SIM_CLOCKS=$DEVPERF_SIM_SLOWDOWN.clocks
export DEVPERF_SIM_SLOWDOWN DEVPERF_SIM_CLOCKS
shift; exec "$@"
"""


def make_stubs(commands: Iterable[str], *, control: str, interpreter: str, translating: bool) -> dict[str, str]:
    """Return the scripts by the names of their commands.

    Args:
        commands: Names of the commands of Android that are simulated.
        control: Folder for requests, as the phone's programs see it.
        interpreter: The shell that runs them.
        translating: Whether script files are translated before they run.
    """
    texts = dict.fromkeys((*commands, OWN_WORDS), ASK) | {"taskset": TASKSET}
    if translating:
        texts["sh"] = TRANSLATING_SHELL
    return {name: text.replace("@CONTROL@", control).replace("@SHELL@", interpreter) for name, text in texts.items()}
