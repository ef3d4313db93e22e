"""The HTTP requests of an app, checked before their content is used."""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from socketserver import TCPServer
from threading import Lock
from typing import Protocol, TypeVar

import msgspec

from pytest_devperf.errors import CaseError
from pytest_devperf.targets.app.wire import Begun, CaseReport, FinalReport, Task, parse_body

MOST_BYTES = 16 << 20
"""Largest body: 1000 rounds of 1000 iterations are 10 MB of digits."""

REQUEST_S = 20.0
"""Longest wait for the bytes of a request: enough for a phone on a bad network."""

MOST_DIGITS = 18
"""Digits of a length that are parsed; a longer one is too large in any case."""

MOST_STRANGERS = 32
"""Connections at once that have not shown the token. An app has a few, and shows it within milliseconds."""

WAITING = 128
"""Connections that may wait to be accepted; with the default of five, an app waits a second while others connect."""

DRAINED_AT_ONCE_BYTES = 1 << 16
"""Bytes of a refused body that are in memory."""

MOST_DRAINED_BYTES = 1 << 20
"""Bytes of a refused body that are read and dropped: otherwise the client sees a broken connection, not the reason."""

_Posted = TypeVar("_Posted", Begun, CaseReport, FinalReport)


class RequestRefused(Exception):
    """A request that is refused."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Receiving(Protocol):
    """The receiver of the requests."""

    token: str
    refusals: deque[str]
    """Reasons of refusals."""

    def task(self) -> Task:
        """Return the task, with the cases that are done by now."""
        ...

    def begin(self, begun: Begun) -> bool:
        """Record that the app begins a case; False if it did so before."""
        ...

    def take(self, report: CaseReport) -> bool:
        """Keep a case's report; False if there is one."""
        ...

    def end(self, final: FinalReport) -> bool:
        """Keep the reports that did not arrive before, and end the run; False if all had arrived."""
        ...


class IntakeServer(ThreadingHTTPServer):
    """The server of one collector, with a thread for each connection.

    Anybody in the network can connect. If more connections than `MOST_STRANGERS` have not shown the token, the oldest
    of them is closed, so that slow ones neither use up threads nor keep the app out.
    """

    daemon_threads = True
    request_queue_size = WAITING

    def __init__(self, address: tuple[str, int], receiver: Receiving) -> None:
        self.receiver = receiver
        self._strangers: dict[socket, None] = {}
        self._lock = Lock()
        super().__init__(address, _Request)

    def process_request(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Start a thread for a connection; close the oldest one that is not known if there are too many."""
        assert isinstance(request, socket)
        with self._lock:
            oldest = next(iter(self._strangers)) if len(self._strangers) >= MOST_STRANGERS else None
            if oldest is not None:
                del self._strangers[oldest]
                with suppress(OSError):
                    oldest.shutdown(SHUT_RDWR)  # its thread reads the end, and closes it
            self._strangers[request] = None
        super().process_request(request, client_address)

    def know(self, request: socket) -> None:
        """Note that a connection showed the token."""
        with self._lock:
            self._strangers.pop(request, None)

    def shutdown_request(self, request: socket | tuple[bytes, socket]) -> None:
        """Close a connection that was answered."""
        assert isinstance(request, socket)
        self.know(request)
        super().shutdown_request(request)

    def server_bind(self) -> None:
        """Bind without a name lookup for this machine, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that closed its connection: an app may be killed during a request."""


class _Request(BaseHTTPRequestHandler):
    """One request of the app."""

    protocol_version = "HTTP/1.1"
    timeout = REQUEST_S
    server: IntakeServer
    unread_bytes = 0
    """Bytes of the body that have not been read."""

    def do_GET(self) -> None:
        """Answer `GET /v1/run`."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer `POST /v1/begin`, `/v1/cases` and `/v1/end`."""
        self._answer(self._post)

    def _get(self) -> tuple[HTTPStatus, object]:
        if self.path != "/v1/run":
            raise RequestRefused(HTTPStatus.NOT_FOUND, "there is only GET /v1/run")
        return HTTPStatus.OK, self.server.receiver.task()

    def _post(self) -> tuple[HTTPStatus, object]:
        receiver = self.server.receiver
        if self.path == "/v1/begin":
            new = receiver.begin(self._body(Begun))
        elif self.path == "/v1/cases":
            new = receiver.take(self._body(CaseReport))
        elif self.path == "/v1/end":
            new = receiver.end(self._body(FinalReport))
        else:
            raise RequestRefused(HTTPStatus.NOT_FOUND, "there are POST /v1/begin, /v1/cases and /v1/end")
        return HTTPStatus.CREATED if new else HTTPStatus.OK, {"new": new}

    def _body(self, kind: type[_Posted]) -> _Posted:
        """Read and check the body; its length is known before any byte is read."""
        if self.unread_bytes > MOST_BYTES:
            raise RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MOST_BYTES} bytes")
        body = self.rfile.read(self.unread_bytes)
        self.unread_bytes = 0
        try:
            return parse_body(body, kind)
        except CaseError as error:
            raise RequestRefused(HTTPStatus.BAD_REQUEST, str(error)) from error

    def _answer(self, act: Callable[[], tuple[HTTPStatus, object]]) -> None:
        """Handle a request if its token is right, and answer in JSON."""
        # One request per connection, so that an unread body cannot be taken for the next request.
        self.close_connection = True
        receiver = self.server.receiver
        answer: object
        try:
            self._measure_body()
            self._check_token()
            status, answer = act()
        except RequestRefused as refused:
            receiver.refusals.append(str(refused))
            status, answer = refused.status, {"error": str(refused)}
        self._drain()
        data = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _drain(self) -> None:
        """Read the rest of the body, and drop it."""
        left_bytes = min(self.unread_bytes, MOST_DRAINED_BYTES)
        while left_bytes and (read := self.rfile.read(min(left_bytes, DRAINED_AT_ONCE_BYTES))):
            left_bytes -= len(read)

    def _measure_body(self) -> None:
        length = self.headers.get("Content-Length", "0" if self.command == "GET" else "")
        if not (length.isascii() and length.isdigit()):
            raise RequestRefused(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
        self.unread_bytes = int(length[:MOST_DIGITS])

    def _check_token(self) -> None:
        sent = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(sent, f"Bearer {self.server.receiver.token}".encode()):
            raise RequestRefused(HTTPStatus.UNAUTHORIZED, "the token is another run's: pass DEVPERF_TOKEN on unchanged")
        self.server.know(self.connection)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Print nothing: the terminal belongs to pytest."""

    def version_string(self) -> str:
        """Do not reveal the version of Python to the network."""
        return "devperf"
