"""A small HTTP server on this machine that collects the reports of one run of an app.

It listens on the loopback interface, which `adb reverse` makes reachable from an Android phone; for an iPhone, it
listens on an address in the local network. Every request carries the run's own token.
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
"""Refusals kept for the error message; a faulty client may repeat its requests for ever."""

WATCH_S = 1.0
"""Time without an event after which to check that the app still runs."""

END_S = 5.0
"""Longest wait for the server to stop."""


@final
class Collector:
    """Receives the reports of one run of an app; use it as a context manager.

    Args:
        task: The task for the app. Its `run` must be new for each run: an app left over from an earlier run sends
            the earlier id, and its requests are refused.
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
        """Why requests were refused, for the error message if no report arrives."""
        self._task = task
        self._done: dict[str, CaseReport] = {}
        self._begun: list[str] = []
        self._lock = threading.Lock()
        # Events in order; None marks the end.
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
        """The port of the server, chosen by the system."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """The server's URL on this machine."""
        return f"http://{self._server.server_name}:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings that the app needs, passed as environment variables or as extras of an intent."""
        return {
            "DEVPERF_COLLECTOR": self.url,
            "DEVPERF_TOKEN": self.token,
            "DEVPERF_RUN": self._task.run,
            "DEVPERF_ITERATIONS": str(self._task.iterations),
            "DEVPERF_WARMUP": str(self._task.warmup),
        }

    def __enter__(self) -> Collector:
        """Start the server."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(END_S)

    def reports(
        self, *, timeout_s: float, expected: Sequence[str] | None = None, watch: Callable[[], None] | None = None
    ) -> Iterator[CaseReport]:
        """Yield the report of each case when it arrives, until the app ends its run.

        Args:
            timeout_s: Longest wait for the next event.
            expected: Cases that the app must report.
            watch: Called every second without an event: checks the app, and raises if it no longer runs.

        Raises:
            TargetError: The app sent nothing in time.
            CaseError: The app ended its run without a case that it must report.
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
        """Wait for the next event."""
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
        """Describe the app's last sign of life: the case it had begun, or why its last request was refused."""
        with self._lock:
            if self._begun:
                return f", last in case {self._begun[-1]!r}"
            if self.refusals:
                return f"; the last request was refused: {self.refusals[-1]}"
        return ""

    # The requests. Each method holds the lock.

    def task(self) -> Task:
        """Return the task, with the cases that are done by now."""
        with self._lock:
            # Cases that the task names as done from the start are no longer expected.
            done = (*self._task.done, *self._done)
            return msgspec.structs.replace(self._task, done=done, begun=tuple(self._begun))

    def begin(self, begun: Begun) -> bool:
        """Record that the app begins a case; False if it did so before."""
        with self._lock:
            self._check_run(begun.run)
            if begun.case in self._done or begun.case in self._begun:
                return False
            self._begun.append(begun.case)
            self._events.put(begun)
            return True

    def take(self, report: CaseReport) -> bool:
        """Keep a report; False if the case was reported before, whose first report stays."""
        with self._lock:
            self._check_run(report.run)
            return self._keep(report)

    def end(self, final: FinalReport) -> bool:
        """Keep the reports that did not arrive before, and end the run; False if all had arrived."""
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
                f"run {run[:40]!r} is over; this is {self._task.run!r}: stop the app and start it again",
            )


_SILENT = "check that the app is still running and reaches the collector, or allow more with timeout_s="
