"""An app on the phone that hosts its own cases: built, started, watched, ended."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from shlex import quote

from pytest_devperf.case.workload import App
from pytest_devperf.errors import CaseError, DevperfError
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.android.adb.loss import best_effort
from pytest_devperf.targets.android.adb.stream import Stream, Timeout
from pytest_devperf.targets.app.collector import Collector
from pytest_devperf.targets.app.launch import AppCommand, build_app
from pytest_devperf.targets.app.wire import CaseReport, Task

ID = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+")
"""Form of an application id. Source: developer.android.com, "Set the application ID"."""

NOT_STARTED = re.compile(r"^\s*Error(:| type \d)", re.MULTILINE)
"""Output of `am start` if it started nothing; old versions return 0 even then. A name may also contain the word.

Source: AOSP ActivityManagerShellCommand.runStartActivity.
"""

END_LOOKS = 20
"""Checks, a tenth of a second apart, after which an app that was ended counts as still running."""

APPEAR_S = 10
"""Longest wait for an app's process to appear: a cold start with a slow class loader."""

RESTARTS = 3
"""Starts in a row without a new report: an app that dies three times without a case will not recover."""

LOG_LINES = 5
"""Lines of the phone's log about an app that died: the exception and its origin."""


def host_app(app: App, task: Task, link: Link, *, build: bool, announce: Callable[[str], None]) -> Iterator[CaseReport]:
    """Run an app once, and yield the report of each case when it arrives.

    Args:
        app: The app.
        task: Its task.
        link: The phone.
        build: Whether to run the app's `build` command first.
        announce: Shows a sentence to the user.

    Raises:
        CaseError: The app is missing, or ended its run without a case that it must report.
        TargetError: The phone is gone, or the app sent nothing in time.
    """
    if not ID.fullmatch(app.id):
        raise CaseError(f"{app.id!r} is no application id", "name it as its manifest does: com.example.bench")
    with ExitStack() as stack:
        collector = stack.enter_context(Collector(task))
        environment = {
            **app.environment,
            **collector.environment,
            "ANDROID_SERIAL": link.serial,
            "ANDROID_ADB_SERVER_PORT": str(link.server_port),
        }
        if build:
            build_app(app.build, environment=environment, cwd=app.cwd, app=app.id)
        link.reverse(collector.port)
        stack.callback(_quietly, lambda: link.end_reverse(collector.port))
        started = _Started(app, link, collector, environment, stack, announce=announce)
        if app.no_launch:
            announce(by_hand(app, {**app.environment, **collector.environment}))
        else:
            stack.callback(_quietly, started.end)
            started.start()
        expected = app.cases if task.only is None else (task.only,)
        wanted = [case for case in expected or () if case not in task.done]
        yield from collector.reports(timeout_s=app.timeout_s, expected=wanted, watch=started.watch)


class _Started:
    """A running app: started, watched, started again if it died."""

    def __init__(
        self,
        app: App,
        link: Link,
        collector: Collector,
        environment: Mapping[str, str],
        stack: ExitStack,
        *,
        announce: Callable[[str], None],
    ) -> None:
        self._announce = announce
        self._app = app
        self._link = link
        self._collector = collector
        self._environment = environment
        self._stack = stack
        self._launch: AppCommand | None = None
        self._alive: Stream | None = None
        self._known = 0
        self._in_vain = 0

    def start(self) -> None:
        """Start the app; end it first if it still runs.

        Raises:
            CaseError: The app is not installed, or cannot be started.
            TargetError: The phone is gone.
        """
        app = self._app
        if app.launch is not None:
            launch = AppCommand(app.launch, environment=self._environment, cwd=app.cwd, what=f"the start of {app.id}")
            self._launch = self._stack.enter_context(launch)
        else:
            extras = {**app.environment, **self._collector.environment}
            done = self._link.script(start_script(self._activity(), extras), doing=f"starting {app.id}", again=False)
            text = f"{done.output}\n{done.error_output}"
            shown = " ".join(text.split())
            if done.returncode != 0 or NOT_STARTED.search(text):
                raise CaseError(f"{app.id} cannot be started on {self._link.name}: {shown[-200:]}", "start it by hand")
        self._follow()

    def watch(self) -> None:
        """Check that the app lives and reaches this machine; start it again if it died.

        Raises:
            CaseError: The app keeps dying.
            TargetError: The phone is gone.
        """
        if self._launch is not None:
            self._launch.check()
        if self._alive is None:
            if self._app.no_launch:
                self._link.reverse(self._collector.port)
            return
        try:
            line = self._alive.read_line(time.monotonic() + 0.05)
        except Timeout:
            return
        except (EOFError, OSError):
            # The link dropped, and its forwarded port with it.
            self._alive.close()
            self._link.reverse(self._collector.port)
            self._follow()
            return
        if line.strip() == "gone":
            self._again()

    def end(self) -> None:
        """End the app, so that it does not run during the next measurement; announce if it does not end."""
        app = self._app.id
        done = self._link.script(end_script(app), doing=f"ending {app}")
        if done.output.strip():
            self._announce(f"{app} does not end on {self._link.name}: it runs during the next measurement")

    # -- below -----------------------------------------------------------------------------------

    def _again(self) -> None:
        """Start the app again: it asks for the cases that are done, and continues after them."""
        task = self._collector.task()
        known = len(task.done) + len(task.begun)
        self._in_vain = self._in_vain + 1 if known == self._known else 1
        self._known = known
        # A refusal would repeat: a wrong token, another run's id.
        if self._in_vain >= RESTARTS or (self._collector.refusals and not known):
            where = f" in case {task.begun[-1]!r}" if task.begun else ""
            refused = (
                f"; the last request was refused: {self._collector.refusals[-1]}" if self._collector.refusals else ""
            )
            raise CaseError(f"{self._app.id} died{where} on {self._link.name}{refused}", self._log() or "see its log")
        self.start()

    def _follow(self) -> None:
        """Start a loop on the phone that reports the end of the app's process; it costs one `sleep` per second."""
        self._alive = self._link.stream(watch_script(self._app.id), doing=f"watching {self._app.id}")
        self._stack.callback(self._alive.close)

    def _activity(self) -> str:
        app = self._app
        done = self._link.script(
            f"pm path {app.id}; cmd package resolve-activity --brief -c android.intent.category.LAUNCHER {app.id}",
            doing=f"looking for {app.id}",
        )
        names = [line.strip() for line in done.output.splitlines() if line.strip().startswith(f"{app.id}/")]
        if names:
            return names[-1]
        if not any(line.startswith("package:") for line in done.output.splitlines()):
            raise CaseError(
                f"{app.id} is not installed on {self._link.name}", "install it, or name the command with build=(...)"
            )
        raise CaseError(f"{app.id} has no launcher activity", "name the command that starts it: launch=(...)")

    def _log(self) -> str:
        with best_effort():
            done = self._link.script(
                f"logcat -d -t 300 | grep -F -e {self._app.id} -e AndroidRuntime | tail -n {LOG_LINES}",
                doing="reading its log",
            )
            return done.output.strip()
        return ""


def start_script(activity: str, extras: Mapping[str, str]) -> str:
    r"""Format the command that starts an app with extras; it first ends a running one.

    >>> start_script("com.example/.Main", {"KEY": "it's"})
    'am start -S -n com.example/.Main --es KEY \'it\'"\'"\'s\''
    """
    words = " ".join(f"--es {quote(name)} {quote(value)}" for name, value in extras.items())
    return f"am start -S -n {quote(activity)} {words}".rstrip()


def end_script(app: str) -> str:
    """Format the command that ends an app and prints its process id if it still runs."""
    return (
        f"am force-stop {app} >/dev/null\n"
        f"n=0; while pidof {app} >/dev/null && [ $n -lt {END_LOOKS} ]; do sleep 0.1; n=$((n + 1)); done\n"
        f"pidof {app}"
    )


def watch_script(app: str) -> str:
    """Format the loop that prints `gone` when an app's process has ended."""
    return (
        f'n=0; pid=; while [ -z "$pid" ] && [ $n -lt {APPEAR_S * 4} ]; do\n'
        f'pid=$(pidof {app}); pid=${{pid%% *}}; n=$((n + 1)); [ -n "$pid" ] || sleep 0.25; done\n'
        'if [ -n "$pid" ]; then while [ -d /proc/$pid ]; do sleep 1; done; fi\n'
        "echo gone"
    )


def by_hand(app: App, environment: Mapping[str, str]) -> str:
    """Format the instruction to start an app by hand, so that it reports to this run."""
    extras = " ".join(f"--es {name} {quote(value)}" for name, value in environment.items())
    return f"waiting for {app.id}: start it now with these, or: adb shell am start -S -n {app.id}/ACTIVITY {extras}"


def _quietly(act: Callable[[], None]) -> None:
    """Clean up; if the phone is gone, its forwarded port and its app are, too."""
    with contextlib.suppress(DevperfError):
        act()
