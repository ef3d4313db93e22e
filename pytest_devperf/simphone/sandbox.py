"""The folder that a simulated phone's commands see: its files, its stub commands, and the pipe by which they ask."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_devperf.simphone.commands import COMMANDS
from pytest_devperf.simphone.translate import WRITABLE, locate, sed_script
from pytest_devperf.simphone.usage import belonging_to

STUB = """#!/bin/sh
# Hands its words to the simulated phone and prints what the phone answers.
d=$DEVPERF_SIM_CONTROL/reply.$$
rm -rf "$d"; mkdir "$d" && mkfifo "$d/done" || exit 126
if [ "${0##*/}" = cmd ] && [ "$1" = package ]; then case " $* " in *" -S "*) cat >/dev/null;; esac; fi
printf '%s\\0' "${0##*/}" "$@" >"$d/words"
echo "$d" >"$DEVPERF_SIM_CONTROL/ask"
read -r code <"$d/done"
cat "$d/out"; [ -s "$d/err" ] && cat "$d/err" >&2
rm -rf "$d"
exit "$code"
"""

SHELL = """#!/bin/sh
# A script file is translated like every command text; `sh -c` holds translated text already.
case $1 in
  ""|-s) sed -E -f "$DEVPERF_SIM_CONTROL/paths.sed" | /bin/sh -s "$@"; exit $?;;
  -*) exec /bin/sh "$@";;
esac
[ -f "$1" ] || exec /bin/sh "$@"
t=$DEVPERF_SIM_CONTROL/script.$$
sed -E -f "$DEVPERF_SIM_CONTROL/paths.sed" "$1" >"$t"; shift
/bin/sh "$t" "$@"; code=$?
rm -f "$t"
exit $code
"""

TASKSET = """#!/bin/sh
# The simulated cores are not this machine's: only the speed of the named ones is taken over.
while [ "$1" = -a ]; do shift; done
if [ "$1" = -p ]; then
  shift; [ $# -gt 1 ] && shift
  echo "pid $1's current affinity mask: $(devperf-sim all-cpus)"; exit 0
fi
DEVPERF_SIM_SLOWDOWN=$(devperf-sim slowdown-file "$1") || exit 1
export DEVPERF_SIM_SLOWDOWN
shift; exec "$@"
"""

OWN_WORDS = "devperf-sim"
"""The stub by which other stubs ask for what no Android command tells."""


class Sandbox:
    """A folder made for one phone and removed with it."""

    def __init__(self) -> None:
        # realpath: what is printed must hold the very name that is taken out of it again
        self.base = Path(os.path.realpath(tempfile.mkdtemp(prefix="devperf-sim-")))
        self.root = self.base / "phone"
        self.control = self.base / "control"
        self._shown: dict[str, tuple[str, tuple[int, int] | None]] = {}
        for folder in (*WRITABLE, "/system/bin", "/vendor/lib64", "/sys", "/proc", "/data/app"):
            (self.root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
        sdcard = self.root / "sdcard"
        sdcard.rmdir()
        sdcard.symlink_to("storage/emulated/0")
        self.control.mkdir()
        os.mkfifo(self.control / "ask", 0o600)
        self._write_stubs()

    @property
    def programs(self) -> Path:
        """Where the stub commands stand."""
        return self.root / "system" / "bin"

    def environment(self) -> dict[str, str]:
        """What a command on the phone finds in its environment."""
        return {
            "PATH": f"{self.programs}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": str(self.root),
            "TMPDIR": str(self.root / "data/local/tmp"),
            "ANDROID_DATA": "/data",
            "ANDROID_ROOT": "/system",
            "USER": "shell",
            "LC_ALL": "C.UTF-8",
            "DEVPERF_SIM_CONTROL": str(self.control),
            "DEVPERF_SIM_SLOWDOWN": str(self.control / "slowdown"),
        }

    def show(self, files: Mapping[str, str], *, anew: bool = False) -> None:
        """Let files read so; each is replaced as a whole, so that nobody reads half a number.

        Args:
            files: Path below the phone's root -> text.
            anew: See also whether a command wrote over one, and write it again.
        """
        for name, text in files.items():
            shown, written = self._shown.get(name, ("", None))
            if shown != text or (anew and _written(self.root / name) != written):
                self.put(self.root / name, text)
                self._shown[name] = (text, _written(self.root / name))

    def leave(self, path: str, text: str) -> None:
        """Put a file where the shell user might have left it."""
        where = locate(path, self.root)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")

    def put(self, where: Path, text: str) -> None:
        """Replace one file as a whole."""
        where.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.control / "fresh"
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o444)
        fresh.replace(where)

    def used_kib(self) -> int:
        """Space that pushed files take."""
        sizes = (path.lstat().st_size for path in (self.root / "data/local/tmp").rglob("*"))
        return sum(sizes) // 1024

    def end_processes(self) -> None:
        """End what still runs here, each by its process id."""
        for pid in belonging_to(f"DEVPERF_SIM_CONTROL={self.control}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        """Take everything away."""
        shutil.rmtree(self.base, ignore_errors=True)

    def _write_stubs(self) -> None:
        for name in (*COMMANDS, OWN_WORDS):
            self._write_program(name, STUB)
        self._write_program("taskset", TASKSET)
        self._write_program("sh", SHELL)
        (self.control / "paths.sed").write_text(sed_script(self.root), encoding="utf-8")

    def _write_program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)


def _written(where: Path) -> tuple[int, int] | None:
    """What tells that a file was written since: its number and its time; None where it is gone."""
    try:
        facts = where.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns
