"""A session's simulated phone: prepared as in the how-to, beside others, with a warning if it is not isolated."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pytest_devperf.simphone import simulated_phone

Session = Any
"""The fixtures' own class; conftest files are not imported."""

RUNNER = """\
#!/bin/sh
# Answers as the runner does, with an anchor that takes as long as the phone's clocks let it.
clocks=1
[ -n "$DEVPERF_SIM_CLOCKS" ] && read -r clocks < "$DEVPERF_SIM_CLOCKS"
[ "$1" = about ] && echo '{"runner": 1, "anchor": "stand-in", "tick_ns": 30, "pid": 1}'
[ "$1" = anchor ] && awk -v n="$2" -v c="$clocks" 'BEGIN {
    printf "{\\"anchor_ns\\": ["; for (i = 0; i < n; i++) printf "%s%d", (i ? ", " : ""), 300000 * c; print "]}" }'
exit 0
"""

INNER = """
def test_inner(devperf):
    devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])
"""

OUTER = """
import subprocess, sys

def test_outer(devperf):
    devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])
    words = ["--devperf-target=sim", "--devperf-rounds=2", "--devperf-processes=1", "--devperf-cooldown=off"]
    done = subprocess.run([sys.executable, "-m", "pytest", "inner.py", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
"""


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


@pytest.fixture
def anchored(tool: Session) -> Session:
    """Sessions with an anchor whose times are the clocks' doing alone."""
    (tool.path / "runner").write_text(RUNNER)
    (tool.path / "library").write_bytes(b"")
    arguments = tool.arguments

    def with_anchor(*args: str, target: str = "sim") -> list[str]:
        words = [word for word in arguments(*args, target=target) if word != "--devperf-no-anchor"]
        return [*words, "--devperf-runner=runner", "--devperf-runtime-library=library"]

    tool.arguments = with_anchor
    return tool


def test_slow_down_makes_the_regression_that_the_how_to_promises(anchored: Session) -> None:
    anchored.run("--devperf-save=base")
    anchored.phone_is(slow=1.25)

    result = anchored.run("--devperf-compare=base", "--devperf-json=run.json")

    assert result.ret == 1
    assert "1 REGRESSED" in flat(result)
    assert "(+25.0 %)" in flat(result)
    (metric,) = (each for each in anchored.cases()["test_tool.py::test_tool"]["metrics"] if each["name"] == "latency")
    assert set(metric["anchor_ns"]) == {metric["anchor_ns"][0]}


def test_a_slower_phone_slows_the_anchor_too_and_is_no_regression(anchored: Session) -> None:
    anchored.run("--devperf-save=base", "--devperf-pin-clocks=off")
    anchored.phone_is(vendor_cap=0.7)

    result = anchored.run(
        "--devperf-compare=base", "--devperf-pin-clocks=off", "--devperf-accept=clock-capped,throttled"
    )

    assert "REGRESSED" not in flat(result)


def test_two_sessions_measure_on_simulated_phones_at_once(session: Session) -> None:
    session.pytester.makepyfile(test_outer=OUTER, inner=INNER)

    result = session.run("test_outer.py")

    assert result.ret == 0, flat(result)


def test_a_phone_that_is_not_isolated_is_reported(tool: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_devperf.simphone.simulated_phone", partial(simulated_phone, isolate=False))

    result = tool.run()

    assert result.ret == 0
    assert "devperf: the simulated phone is not isolated (isolation was not requested): its programs see this" in flat(
        result
    )


def test_an_isolated_phone_is_not_reported(tool: Session) -> None:
    with simulated_phone() as phone:
        if phone.barrier is not None:
            pytest.skip(f"this machine cannot isolate a phone: {phone.barrier}")

    assert "not isolated" not in flat(tool.run())
