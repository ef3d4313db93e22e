"""Collects what an app reports: a small HTTP server of this machine that lives as long as one run of the app.

It listens on the loopback, which `adb reverse` brings to an Android phone; for an iPhone it is given an address of
this machine in the local network. Every request carries the run's own token.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import final

import msgspec

from pytest_devperf.errors import CaseError, TargetError
from pytest_devperf.targets.app.intake import IntakeServer, RequestRefused
from pytest_devperf.targets.app.wire import Begun, CaseReport, FinalReport, Task

REFUSALS_KEPT = 20
"""Refusals remembered for a message; a client gone wrong may repeat itself for ever."""

WATCH_S = 1.0
"""How often the app is looked after while nothing comes."""

END_S = 5.0
"""Longest wait for the server's end."""


@final
class Collector:
    """Takes reports of one run of an app; a with-block opens and closes it.

    Args:
        task: What the app is asked to do. Its `run` must be fresh for each run: an app that stayed alive from an
            earlier one answers with that one's id, and is refused.
        host: IPv4 address to listen on.

    Example:
        with Collector(task) as collector:
            launch(environment=collector.environment)
            for report in collector.reports(timeout_s=600):
                …
    """

    def __init__(self, task: Task, *, host: str = "127.0.0.1") -> None:
        self.token = secrets.token_urlsafe(24)
        self.refusals: deque[str] = deque(maxlen=REFUSALS_KEPT)
        """Why requests were refused, for the message where nothing came."""
        self._task = task
        self._done: dict[str, CaseReport] = {}
        self._begun: list[str] = []
        self._lock = threading.Lock()
        # What happened, in order; None is the end.
        self._events: queue.Queue[CaseReport | Begun | None] = queue.Queue()
        self._ended = False
        self._reason: str | None = None
        try:
            self._server = IntakeServer((host, 0), self)
        except OSError as error:
            raise TargetError(
                f"the collector cannot listen on {host}: {error.strerror}", "pass an address of this machine"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on, chosen by the system."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """Where this machine reaches it."""
        return f"http://{self._server.server_name}:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What the app must be told, as variables or as extras of an intent."""
        return {
            "DEVPERF_COLLECTOR": self.url,
            "DEVPERF_TOKEN": self.token,
            "DEVPERF_RUN": self._task.run,
            "DEVPERF_ITERATIONS": str(self._task.iterations),
            "DEVPERF_WARMUP": str(self._task.warmup),
        }

    def __enter__(self) -> Collector:
        """Begin to listen."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(END_S)

    def reports(
        self, *, timeout_s: float, expected: Sequence[str] | None = None, watch: Callable[[], None] | None = None
    ) -> Iterator[CaseReport]:
        """Give each case's report as it comes, until the app says that it is through.

        Args:
            timeout_s: Longest wait for the next sign of the app.
            expected: Cases that must come.
            watch: Called every second in which nothing came: looks after the app, and raises where it is gone.

        Raises:
            TargetError: The app fell silent.
            CaseError: It ended without a case that must come.
        """
        seen: set[str] = set()
        while True:
            try:
                event = self._next(timeout_s, watch)
            except queue.Empty:
                raise TargetError(f"the app sent nothing for {timeout_s:g} s{self._last_seen()}", _SILENT) from None
            if event is None:
                break
            if isinstance(event, CaseReport):
                seen.add(event.case)
                yield event
        missing = [case for case in expected or () if case not in seen]
        if missing:
            why = f" ({self._reason})" if self._reason else ""
            raise CaseError(f"the app ended{why} without reporting {', '.join(missing)}", "see its own log")

    def _next(self, timeout_s: float, watch: Callable[[], None] | None) -> CaseReport | Begun | None:
        """Wait for what happens next."""
        until_s = time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, until_s - time.monotonic())
            try:
                return self._events.get(timeout=left_s if watch is None else min(left_s, WATCH_S))
            except queue.Empty:
                if watch is None or time.monotonic() >= until_s:
                    raise
            watch()

    def _last_seen(self) -> str:
        """Tell where the app was: the case it had begun, or why its requests were refused."""
        with self._lock:
            if self._begun:
                return f", last in case {self._begun[-1]!r}"
            if self.refusals:
                return f"; the last request was refused: {self.refusals[-1]}"
        return ""

    # What the requests do; each holds the lock.

    def tell_task(self) -> Task:
        """Tell the app what to do and what is done."""
        with self._lock:
            # What the task names as done from the start are cases that nobody waits for any more.
            done = (*self._task.done, *self._done)
            return msgspec.structs.replace(self._task, done=done, begun=tuple(self._begun))

    def begin(self, begun: Begun) -> bool:
        """Note that the app begins a case."""
        with self._lock:
            self._check_run(begun.run)
            if begun.case in self._done or begun.case in self._begun:
                return False
            self._begun.append(begun.case)
            self._events.put(begun)
            return True

    def take(self, report: CaseReport) -> bool:
        """Take a report; False where the case was reported before, which keeps its first report."""
        with self._lock:
            self._check_run(report.run)
            return self._keep(report)

    def end(self, final: FinalReport) -> bool:
        """Take everything once more, keep what did not arrive, and end the run."""
        with self._lock:
            self._check_run(final.run)
            for report in final.cases:
                self._check_run(report.run)
            kept = [self._keep(report) for report in final.cases]
            if not self._ended:
                self._ended = True
                self._reason = final.reason
                self._events.put(None)
            return any(kept)

    def _keep(self, report: CaseReport) -> bool:
        if self._ended or report.case in self._done:
            return False
        if report.case in self._begun:
            self._begun.remove(report.case)
        self._done[report.case] = report
        self._events.put(report)
        return True

    def _check_run(self, run: str) -> None:
        if run != self._task.run:
            raise RequestRefused(
                HTTPStatus.CONFLICT,
                f"run {run[:40]!r} is over; this is {self._task.run!r}: end the app and start it anew",
            )


_SILENT = "see whether it is still running and reaches the collector, or allow more with timeout_s="
