"""Apps on an iPhone report over the local network. A stand-in for Xcode's `xcrun` starts them here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.targets.ios.devicectl import Connected, list_connected, parse_devices

Session = Any
"""The fixtures' own class; conftest files are not imported."""

CLOCK = """
import time

class Clock:
    ahead = 0
    def now_ns(self):
        return time.perf_counter_ns() + self.ahead
    def sleep(self, seconds):
        self.ahead += int(seconds * 1e9)

def pytest_devperf_clock(config):
    return CLOCK

CLOCK = Clock()
"""

DEVICES = {
    "result": {
        "devices": [
            {
                "identifier": "ID-1",
                "hardwareProperties": {
                    "platform": "iOS",
                    "marketingName": "iPhone 15 Pro",
                    "productType": "iPhone16,1",
                },
                "deviceProperties": {"osVersionNumber": "17.4", "osBuildUpdate": "21E213"},
                "connectionProperties": {"tunnelState": "connected"},
            },
            {
                "identifier": "ID-2",
                "hardwareProperties": {"platform": "iOS"},
                "connectionProperties": {"tunnelState": "unavailable"},
            },
            {"identifier": "ID-3", "hardwareProperties": {"platform": "watchOS"}},
        ]
    }
}

XCRUN = """\
#!{python}
import json, os, subprocess, sys
words = sys.argv[1:]
if words[:3] == ["devicectl", "list", "devices"]:
    open(words[words.index("--json-output") + 1], "w").write({devices!r})
elif words[:4] == ["devicectl", "device", "process", "launch"]:
    variables = json.loads(words[words.index("--environment-variables") + 1])
    assert words[-1] == "com.example.bench" and words[words.index("--device") + 1] == "ID-1"
    subprocess.Popen([sys.executable, "app.py"], env={{**os.environ, **variables}})
"""


@pytest.fixture
def iphone(app: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    tools = Path(app.path, "bin")
    tools.mkdir()
    (tools / "xcrun").write_text(XCRUN.format(python=sys.executable, devices=json.dumps(DEVICES)))
    (tools / "xcrun").chmod(0o755)
    (app.path / "slow").write_text("1")
    app.pytester.makeconftest(CLOCK)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTEST_DEVPERF_ADDRESS", "127.0.0.1")
    monkeypatch.setenv("DEVPERF_SIM_SLOWDOWN", str(app.path / "slow"))
    return app


def test_an_app_on_an_iphone_is_measured_saved_and_compared(iphone: Session) -> None:
    saving = iphone.run("--devperf-save=base", "--devperf-cooldown=auto", "--devperf-json=run.json", target="ios")
    result = iphone.run("--devperf-compare=base", target="ios")

    assert saving.ret == 0
    saving.stdout.fnmatch_lines(["devperf device: ios Apple iPhone 15 Pro (iPhone16,1, arm64, *); *"])
    assert "no temperature can be read: waited 6" in saving.stdout.str()
    context = iphone.cases()["test_app.py::test_app[sort]"]["run_context"]
    assert context["env"]["os"] == "iOS 17.4 (21E213)"
    assert context["temp_start_c"] is None
    assert result.ret == 0
    assert "devperf: 2 within noise; compared with base" in result.outlines


def test_an_iphone_without_xcode_ends_the_session(app: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    result = app.run(target="ios")

    assert result.ret == 4
    assert "use a Mac with Xcode 15 or later" in result.stderr.str()


def test_only_connected_iphones_are_listed() -> None:
    assert parse_devices(json.dumps(DEVICES)) == (
        Connected(identifier="ID-1", model="iPhone 15 Pro", product="iPhone16,1", os="iOS 17.4 (21E213)"),
    )


def test_a_listing_that_failed_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "xcrun"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "open(sys.argv[sys.argv.index('--json-output') + 1], 'w').write('{}')\n"
        "sys.exit('CoreDevice is not running')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError, match=r"devicectl does not list devices \(CoreDevice is not running\)"):
        list_connected()
