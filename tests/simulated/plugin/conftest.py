"""Whole sessions on a simulated phone behind one genuine adb server."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

# Loaded once here: pytester forgets what a suite imported, and would import it again for every one.
import adbutils  # noqa: F401 - as above
import onnx  # noqa: F401 - as above
import onnxruntime  # noqa: F401 - as above
import pytest

import pytest_devperf.compare.compare
import pytest_devperf.plugin.configure
import pytest_devperf.simphone
import pytest_devperf.store.folder
import pytest_devperf.store.open
import pytest_devperf.targets.android.app
import pytest_devperf.targets.android.open  # noqa: F401 - as above
from pytest_devperf.simphone import AdbServer

TOOL = """\
slow=1
[ -n "$DEVPERF_SIM_SLOWDOWN" ] && read -r slow < "$DEVPERF_SIM_SLOWDOWN"
awk -v n="$1" -v s="$slow" 'BEGIN { for (i = 0; i < n; i++) printf "%d\\n", (1000000 + (i % 5) * 2000) * s }'
"""
"""A program that measures itself: a millisecond, multiplied by the phone's slowdown."""

APP = """\
import json, os, sys, urllib.request

FOLDER = os.path.dirname(os.path.abspath(__file__))
PARAMETERS = {name: os.environ.get(f"DEVPERF_{name}") for name in ("COLLECTOR", "TOKEN", "RUN")}
HOW = json.load(open(os.path.join(FOLDER, "app.json")))
PARAMETERS.update(HOW.get("parameters", {}))

def send(method, path, body=None):
    request = urllib.request.Request(PARAMETERS["COLLECTOR"] + path, method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + PARAMETERS["TOKEN"]})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())

task = send("GET", "/v1/run")
print("launched", json.dumps({**task, "environment": os.environ.get("SUITE")}), flush=True)
slow = float(open(os.environ["DEVPERF_SIM_SLOWDOWN"]).read())
done = []
for name, ns in HOW["cases"].items():
    if name in task["done"] or task["only"] not in (None, name):
        continue
    if name in task["begun"]:
        report = {"outcome": "failed", "reason": "the app died in this case"}
    else:
        send("POST", "/v1/begin", {"run": PARAMETERS["RUN"], "case": name})
        if name == HOW.get("dies_in"):
            sys.exit(3)
        rounds = [[int((ns + i % 5 * 1000) * slow) for i in range(task["iterations"])] for _ in range(task["rounds"])]
        report = {"rounds_ns": {"latency": rounds}, "facts": {"size": HOW.get("size", 1)}}
    report = {"run": PARAMETERS["RUN"], "case": name, **report}
    send("POST", "/v1/cases", report)
    done.append(report)
send("POST", "/v1/end", {"run": PARAMETERS["RUN"], "cases": done})
"""

CONFTEST = """
import json, pathlib, sys

HERE = pathlib.Path(__file__).parent

def keep_log(phone):
    with open(HERE / "log.txt", "a") as log:
        log.writelines(f"{line}\\n" for line in phone.log)

def pytest_devperf_simulated_phone(config, phone):
    phone.install_app("com.example.bench", [sys.executable, HERE / "app.py"], files=[HERE / "app.json"])
    config.add_cleanup(lambda: keep_log(phone))
    how = json.loads((HERE / "phone.json").read_text())
    phone.slow_down(how.pop("slow", 1.0))
    phone.change(**how)
"""

TEST_TOOL = """
def test_tool(devperf):
    devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])
"""


class Session:
    """A user's folder, and sessions in it on a simulated phone."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
        pytester.makeconftest(CONFTEST)
        (self.path / "tool.sh").write_text(TOOL)
        (self.path / "app.py").write_text(APP)
        self.phone_is()
        self.app_does(sort=1_000_000, decode=2_000_000)

    def phone_is(self, **how: object) -> None:
        """Set the state in which the phone is switched on; `slow`: how many times as long work takes."""
        (self.path / "phone.json").write_text(json.dumps(how))

    def app_does(self, *, how: dict[str, object] | None = None, **cases: int) -> None:
        """Set the cases of the app, and the duration of each in ns."""
        (self.path / "app.json").write_text(json.dumps({"cases": cases, **(how or {})}))

    @property
    def launches(self) -> list[dict[str, Any]]:
        """The parameters of each launch of the app."""
        lines = (self.path / "log.txt").read_text().splitlines()
        return [json.loads(line.partition(" launched ")[2]) for line in lines if " launched " in line]

    def arguments(self, *args: str, target: str = "sim") -> list[str]:
        """A short session: three rounds in one launch, without waits."""
        short = ("--devperf-rounds=3", "--devperf-processes=1", "--devperf-iterations=10", "--devperf-cooldown=off")
        return ["-p", "no:randomly", "--devperf", f"--devperf-target={target}", "--devperf-no-anchor", *short, *args]

    def run(self, *args: str, target: str = "sim") -> pytest.RunResult:
        """Run a short session."""
        return self.pytester.runpytest_inprocess(*self.arguments(*args, target=target))

    def cases(self, name: str = "run.json") -> dict[str, dict[str, Any]]:
        """Read the cases of a run document's first run by their ids."""
        document = json.loads((self.path / name).read_text(encoding="utf-8"))
        return {case["id"]: case for case in document["runs"][0]["cases"]}

    def saved(self) -> list[Path]:
        """List the saved runs."""
        return sorted((self.path / ".devperf").rglob("*.json"))


@pytest.fixture
def session(
    pytester: pytest.Pytester, adb_server: AdbServer, own_setups: Path, monkeypatch: pytest.MonkeyPatch
) -> Session:
    monkeypatch.setattr("pytest_devperf.simphone.phone.AdbServer", lambda: nullcontext(adb_server))
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(adb_server.port))
    monkeypatch.setattr("pytest_devperf.targets.android.adb.link.BACK_S", 0.5)
    return Session(pytester)


@pytest.fixture
def tool(session: Session) -> Session:
    session.pytester.makepyfile(test_tool=TEST_TOOL)
    return session


@pytest.fixture
def app(session: Session) -> Session:
    session.pytester.makepyfile(test_app="def test_app(devperf):\n    devperf.app('com.example.bench')\n")
    return session
