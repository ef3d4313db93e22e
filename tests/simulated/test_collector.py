"""The collector accepts each report of its own run's app once, and nothing else."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from waiting import until

from pytest_devperf.errors import CaseError, TargetError
from pytest_devperf.targets.app.collector import Collector
from pytest_devperf.targets.app.intake import MOST_BYTES, MOST_STRANGERS
from pytest_devperf.targets.app.wire import Task


def case(name: str, run: str = "run-2", **more: object) -> dict:
    return {"run": run, "case": name, "rounds_ns": {"latency": [[100, 101]]}, **more}


class App:
    """An app's side of the wire."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.headers = {"Authorization": f"Bearer {collector.token}"}

    def send(self, method: str, path: str, body: object = None, headers: dict | None = None) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", self.collector.port)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, data, self.headers if headers is None else headers)
        answer = connection.getresponse()
        read = json.loads(answer.read())
        connection.close()
        return answer.status, read

    def post(self, path: str, body: object) -> tuple[int, dict]:
        return self.send("POST", path, body)

    def end(self, *cases: dict, **more: object) -> tuple[int, dict]:
        return self.post("/v1/end", {"run": "run-2", "cases": list(cases), **more})


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector(Task(run="run-2", rounds=12, iterations=30, warmup=3, only="b")) as collector:
        yield collector


@pytest.fixture
def app(collector: Collector) -> App:
    return App(collector)


def names(collector: Collector, **more: object) -> list[str]:
    return [report.case for report in collector.reports(timeout_s=5, **more)]


def test_an_app_gets_the_address_of_the_collector_and_its_task(collector: Collector, app: App) -> None:
    status, task = app.send("GET", "/v1/run")

    assert status == 200
    assert task == {
        "schema": "pytest-devperf-wire/1",
        "run": "run-2",
        "rounds": 12,
        "iterations": 30,
        "warmup": 3,
        "only": "b",
        "done": [],
        "begun": [],
    }
    assert collector.environment["DEVPERF_COLLECTOR"] == f"http://127.0.0.1:{collector.port}"
    assert collector.environment["DEVPERF_TOKEN"] == collector.token
    assert collector.environment["DEVPERF_RUN"] == "run-2"


def test_posted_cases_arrive_in_order_and_the_final_report_adds_lost_ones(collector: Collector, app: App) -> None:
    assert app.post("/v1/cases", case("a")) == (201, {"new": True})
    assert app.post("/v1/cases", case("b")) == (201, {"new": True})
    app.end(case("a"), case("b"), case("lost on the way"))

    assert names(collector) == ["a", "b", "lost on the way"]


def test_reports_come_while_the_app_still_runs(collector: Collector, app: App) -> None:
    reports = collector.reports(timeout_s=5)
    app.post("/v1/cases", case("a"))

    assert next(reports).case == "a"


def test_a_case_reported_twice_keeps_its_first_report(collector: Collector, app: App) -> None:
    app.post("/v1/cases", case("a"))
    assert app.post("/v1/cases", case("a", rounds_ns={"latency": [[999]]})) == (200, {"new": False})
    app.end(case("a"))

    (report,) = collector.reports(timeout_s=5)
    assert report.rounds_ns["latency"] == ((100, 101),)


def test_a_restarted_app_gets_the_cases_that_are_done_and_the_one_it_crashed_in(app: App) -> None:
    app.post("/v1/begin", {"run": "run-2", "case": "a"})
    app.post("/v1/cases", case("a"))
    app.post("/v1/begin", {"run": "run-2", "case": "b"})
    app.post("/v1/begin", {"run": "run-2", "case": "b"})

    _, task = app.send("GET", "/v1/run")

    assert task["done"] == ["a"]
    assert task["begun"] == ["b"]


@pytest.mark.parametrize("path", ["/v1/begin", "/v1/cases", "/v1/end"])
def test_a_stale_app_of_another_run_is_refused_with_the_reason(collector: Collector, app: App, path: str) -> None:
    stale = {"run": "run-1", "cases": []} if path == "/v1/end" else case("a", run="run-1")
    status, answer = app.post(path, stale)
    app.end()

    assert status == 409
    assert answer["error"] == "run 'run-1' is over; this is 'run-2': stop the app and start it again"
    assert names(collector) == []


def test_a_final_report_with_a_case_of_another_run_is_refused_whole(collector: Collector, app: App) -> None:
    assert app.end(case("a"), case("b", run="run-1"))[0] == 409
    app.end()

    assert names(collector) == []


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}])
def test_a_request_without_the_runs_token_is_refused(collector: Collector, app: App, headers: dict) -> None:
    for method, path, body in (("GET", "/v1/run", None), ("POST", "/v1/cases", case("a"))):
        status, answer = app.send(method, path, body, headers)
        assert status == 401
        assert "DEVPERF_TOKEN" in answer["error"]
        assert collector.token not in json.dumps(answer)


def test_the_token_of_another_collector_is_refused(app: App) -> None:
    with Collector(Task(run="run-2", rounds=1, iterations=1, warmup=0)) as other:
        assert app.send("GET", "/v1/run", headers=App(other).headers)[0] == 401


@pytest.mark.parametrize(
    ("body", "words"), [(b"", "no CaseReport"), (b"{", "no CaseReport"), (json.dumps(case("../x")).encode(), "$.case")]
)
def test_a_malformed_body_is_refused_and_the_collector_goes_on(
    collector: Collector, app: App, body: bytes, words: str
) -> None:
    status, answer = app.post("/v1/cases", body)

    assert status == 400
    assert words in answer["error"]
    assert app.post("/v1/cases", case("a"))[0] == 201


def test_too_large_a_body_is_refused_by_its_length_before_it_is_read(app: App) -> None:
    headers = {**app.headers, "Content-Length": str(MOST_BYTES + 1)}
    connection = http.client.HTTPConnection("127.0.0.1", app.collector.port)
    connection.putrequest("POST", "/v1/cases")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.sock.shutdown(socket.SHUT_WR)

    assert connection.getresponse().status == 413


@pytest.mark.parametrize("length", [None, "-1", "1e3", "ten"])
def test_a_body_of_unknown_length_is_refused(app: App, length: str | None) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", app.collector.port)
    connection.putrequest("POST", "/v1/cases")
    connection.putheader("Authorization", app.headers["Authorization"])
    if length is not None:
        connection.putheader("Content-Length", length)
    connection.endheaders()

    assert connection.getresponse().status == 411


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/v1/cases"), ("POST", "/v1/../run")])
def test_other_paths_are_not_found(app: App, method: str, path: str) -> None:
    assert app.send(method, path, b"{}" if method == "POST" else None)[0] == 404


def test_an_app_that_breaks_off_does_no_harm(collector: Collector, app: App) -> None:
    with socket.create_connection(("127.0.0.1", collector.port)) as half:
        half.sendall(
            b"POST /v1/cases HTTP/1.1\r\nContent-Length: 500\r\nAuthorization: Bearer " + collector.token.encode()
        )
    app.post("/v1/cases", case("a"))
    app.end()

    assert names(collector) == ["a"]


def test_silence_is_an_error_that_names_the_case_the_app_was_in(collector: Collector, app: App) -> None:
    app.post("/v1/begin", {"run": "run-2", "case": "decode"})
    reports = collector.reports(timeout_s=0.05)

    with pytest.raises(TargetError, match=r"sent nothing for 0.05 s, last in case 'decode'"):
        list(reports)


def test_a_timeout_after_a_refusal_names_the_reason_of_the_refusal(collector: Collector, app: App) -> None:
    app.send("GET", "/v1/run", headers={})

    with pytest.raises(TargetError, match="the last request was refused: the token is another run's"):
        list(collector.reports(timeout_s=0.05))


def test_a_case_that_must_come_and_did_not_is_named(collector: Collector, app: App) -> None:
    app.post("/v1/cases", case("a"))
    app.end(reason="out of memory")

    with pytest.raises(CaseError, match=r"the app ended \(out of memory\) without reporting b, c"):
        names(collector, expected=["a", "b", "c"])


def test_nothing_is_taken_after_the_end(collector: Collector, app: App) -> None:
    app.end(case("a"))

    assert app.post("/v1/cases", case("b")) == (200, {"new": False})
    assert names(collector) == ["a"]


def test_a_hundred_cases_posted_at_once_are_all_recorded_once(collector: Collector, app: App) -> None:
    def post(start: int) -> None:
        for number in range(start, start + 25):
            app.post("/v1/cases", case(f"case {number % 50}"))

    threads = [threading.Thread(target=post, args=(25 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    app.end()

    assert sorted(names(collector)) == sorted(f"case {number}" for number in range(50))


@pytest.fixture
def many_files() -> Iterator[int]:
    """Allow as many open sockets as the system does; the number of clients that leaves room for."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    yield min(1000, most - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /v1/cases HTTP/1.1\r\nContent-Le",
        b"POST /v1/cases HTTP/1.1\r\nAuthorization: Bearer wrong\r\nContent-Length: 16777216\r\n\r\n{",
    ],
)
def test_a_thousand_slow_clients_take_few_threads_and_do_not_keep_the_app_out(
    collector: Collector, app: App, many_files: int, sent: bytes
) -> None:
    before = threading.active_count()
    with ExitStack() as stack:
        most = 0
        for number in range(many_files):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", collector.port)))
            with suppress(OSError):  # it was closed already
                slow.sendall(sent)
            if number % 100 == 0:
                assert app.post("/v1/cases", case(f"case {number}"))[0] == 201
            until(lambda: threading.active_count() - before <= MOST_STRANGERS + 1)
            most = max(most, len(collector._server._strangers))
        assert app.post("/v1/cases", case("last"))[0] == 201
        app.end()
    assert most <= MOST_STRANGERS
    assert names(collector)[-1] == "last"


def test_an_app_that_showed_its_token_is_not_closed_for_others(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = threading.Event()
    know = collector._server.know
    monkeypatch.setattr(collector._server, "know", lambda request: (know(request), shown.set()))
    body = json.dumps(case("slow")).encode()
    head = f"POST /v1/cases HTTP/1.1\r\nAuthorization: Bearer {collector.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    with ExitStack() as stack:
        slow = stack.enter_context(socket.create_connection(("127.0.0.1", collector.port)))
        slow.sendall(head.encode() + body[:5])
        shown.wait()
        for _ in range(2 * MOST_STRANGERS):
            stack.enter_context(socket.create_connection(("127.0.0.1", collector.port)))
        slow.sendall(body[5:])
        answer = http.client.HTTPResponse(slow)
        answer.begin()
        assert answer.status == 201


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(TargetError, match=r"cannot listen on 192\.0\.2\.1"):
        Collector(Task(run="r", rounds=1, iterations=1, warmup=0), host="192.0.2.1")


def test_a_failed_case_carries_its_reason(collector: Collector, app: App) -> None:
    app.post("/v1/cases", {"run": "run-2", "case": "a", "outcome": "failed", "reason": "no camera"})
    app.end()

    (report,) = collector.reports(timeout_s=5)
    assert (report.outcome, report.reason) == ("failed", "no camera")
