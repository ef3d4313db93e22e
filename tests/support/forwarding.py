"""Forward a port of this machine to another one, as `ssh -L` does."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class _Relay(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.target_port)) as there:  # type: ignore[attr-defined]
            back = threading.Thread(target=_copy, args=(there, self.request))
            back.start()
            _copy(self.request, there)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def forwarded(port: int) -> Iterator[int]:
    """Forward a free port to a port; gives the free one."""
    with _Server(("127.0.0.1", 0), _Relay) as server:
        server.target_port = port  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
