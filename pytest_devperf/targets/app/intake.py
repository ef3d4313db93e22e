"""The collector's door: one HTTP request of an app, checked before anything of it is believed."""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Protocol, TypeVar

import msgspec

from pytest_devperf.errors import CaseError
from pytest_devperf.targets.app.wire import Begun, CaseReport, FinalReport, Task, parse_body

MOST_BYTES = 16 << 20
"""Largest body: 1000 rounds of 1000 iterations are 10 MB of digits."""

REQUEST_S = 20.0
"""Longest wait for a request's bytes: a phone on a bad network, not one that went away."""

MOST_DIGITS = 18
"""Digits of a length that are looked at; longer ones are too large whatever follows."""

MOST_DRAINED_BYTES = 1 << 20
"""Bytes of a refused body that are read and dropped: else the client sees a broken connection, not the reason."""

_Posted = TypeVar("_Posted", Begun, CaseReport, FinalReport)


class RequestRefused(Exception):
    """A request that is answered with a refusal."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Receiving(Protocol):
    """Who the requests are for."""

    token: str
    refusals: deque[str]
    """Where the reasons of refusals are noted."""

    def tell_task(self) -> Task:
        """Tell the app what to do and what is done."""
        ...

    def begin(self, begun: Begun) -> bool:
        """Note that the app begins a case; False where it is known."""
        ...

    def take(self, report: CaseReport) -> bool:
        """Take a case's report; False where there is one."""
        ...

    def end(self, final: FinalReport) -> bool:
        """Take everything once more and end the run; False where nothing was new."""
        ...


class IntakeServer(ThreadingHTTPServer):
    """The server of one collector."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], receiver: Receiving) -> None:
        self.receiver = receiver
        super().__init__(address, _Request)

    def server_bind(self) -> None:
        """Bind without asking the network for this machine's name, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave a client that broke off alone: an app may be killed in the middle of a request."""


class _Request(BaseHTTPRequestHandler):
    """One request of the app."""

    protocol_version = "HTTP/1.1"
    timeout = REQUEST_S
    server: IntakeServer
    unread_bytes = 0
    """What of the body is still to come."""

    def do_GET(self) -> None:
        """Answer `GET /v1/run`."""
        self._answer(self._tell)

    def do_POST(self) -> None:
        """Answer `POST /v1/begin`, `/v1/cases` and `/v1/end`."""
        self._answer(self._take)

    def _tell(self) -> tuple[HTTPStatus, object]:
        if self.path != "/v1/run":
            raise RequestRefused(HTTPStatus.NOT_FOUND, "there is GET /v1/run alone")
        return HTTPStatus.OK, self.server.receiver.tell_task()

    def _take(self) -> tuple[HTTPStatus, object]:
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
        """Read and check the body; its length is known before a byte of it is read."""
        if self.unread_bytes > MOST_BYTES:
            raise RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MOST_BYTES} bytes")
        body = self.rfile.read(self.unread_bytes)
        self.unread_bytes = 0
        try:
            return parse_body(body, kind)
        except CaseError as error:
            raise RequestRefused(HTTPStatus.BAD_REQUEST, str(error)) from error

    def _answer(self, act: Callable[[], tuple[HTTPStatus, object]]) -> None:
        """Do what is asked if the token is right, and answer in JSON."""
        # One request a connection: a body that was not read can't be taken for the next request.
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
        self.rfile.read(min(self.unread_bytes, MOST_DRAINED_BYTES))
        data = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _measure_body(self) -> None:
        length = self.headers.get("Content-Length", "0" if self.command == "GET" else "")
        if not (length.isascii() and length.isdigit()):
            raise RequestRefused(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
        self.unread_bytes = int(length[:MOST_DIGITS])

    def _check_token(self) -> None:
        sent = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(sent, f"Bearer {self.server.receiver.token}".encode()):
            raise RequestRefused(HTTPStatus.UNAUTHORIZED, "the token is another run's: pass on DEVPERF_TOKEN as it is")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Print nothing: the terminal is pytest's."""

    def version_string(self) -> str:
        """Tell no version of Python to the network."""
        return "devperf"
