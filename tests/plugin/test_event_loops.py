"""A coroutine is measured in the loop that runs the test, whichever library it belongs to, and lets go at once."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from waiting import running, until

if TYPE_CHECKING:
    from conftest import Suite

FEW = (
    "--devperf",
    "--devperf-target=host",
    "--devperf-processes=2",
    "--devperf-rounds=2",
    "--devperf-iterations=5",
    "--devperf-json=run.json",
)

ANYIO = "anyio.pytest_plugin"
ASYNCIO = "pytest_asyncio.plugin"


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


BACKENDS = """
import anyio, asyncio
import pytest

async def fetch(value):
    await anyio.sleep(0)
    return value

async def items():
    for item in range(3):
        await anyio.sleep(0)
        yield item

@pytest.mark.anyio
async def test_call(devperf):
    assert await devperf(fetch, 1) == 1

@pytest.mark.anyio
async def test_stream(devperf):
    assert await devperf.stream(items) == [0, 1, 2]

@pytest.mark.anyio
@pytest.mark.devperf
async def test_alone():
    await fetch(1)

def test_plain(devperf):
    assert devperf(fetch, 1) == 1

def test_plain_stream(devperf):
    assert devperf.stream(items) == [0, 1, 2]
"""


@needs("anyio", "trio")
@pytest.mark.parametrize("measuring", [True, False], ids=["measuring", "once"])
def test_every_loop_measures_what_it_runs(suite: Suite, *, measuring: bool) -> None:
    suite.pytester.makepyfile(BACKENDS)

    result = suite.run_here(*(FEW if measuring else ()), plugins=[ANYIO])

    result.assert_outcomes(passed=8)
    if measuring:
        names = {each.rpartition("::")[2]: case["metrics"] for each, case in suite.cases().items()}
        assert all(metrics[0]["process"] == [0, 1] for metrics in names.values())
        assert [metric["name"] for metric in names["test_stream[trio]"]] == ["latency", "first_item", "per_item"]


@needs("trio")
def test_a_plain_test_may_run_its_own_loop(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        import asyncio, trio

        async def nothing():
            pass

        async def measure(devperf):
            await devperf(nothing)

        def test_trio(devperf):
            trio.run(measure, devperf)

        def test_asyncio(devperf):
            asyncio.run(measure(devperf))
        """
    )

    suite.run_here(*FEW).assert_outcomes(passed=2)


LETTING_GO = """
import asyncio
import pytest

CALLS = []

async def hangs(from_call):
    CALLS.append(1)
    if len(CALLS) >= from_call:
        await asyncio.Event().wait()

async def never_waits():
    pass

@pytest.mark.parametrize("from_call", [1, 7])
async def test_timeout(devperf, from_call):
    CALLS.clear()
    await asyncio.wait_for(devperf(hangs, from_call), 0.01)

async def test_cancelled(devperf):
    measuring = asyncio.ensure_future(devperf(never_waits))
    asyncio.get_running_loop().call_soon(measuring.cancel)
    with pytest.raises(asyncio.CancelledError):
        await measuring
    devperf.record("cancelled", 1.0)
"""


@pytest.mark.parametrize("plugin", [pytest.param(ASYNCIO, marks=needs("pytest_asyncio")), None])
def test_a_measurement_ends_when_it_is_cancelled(suite: Suite, plugin: str | None) -> None:
    suite.ini("asyncio_mode = auto" if plugin else "")
    suite.pytester.makepyfile(test_it=LETTING_GO)

    result = suite.run_here(*FEW, plugins=[plugin] if plugin else [])

    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*the measurement of 'latency' ended with CancelledError, which the test caught*"])
    result.stdout.fnmatch_lines(["FAILED *test_timeout[[]1]*Timeout*", "FAILED *test_timeout[[]7]*Timeout*"])


INTERRUPTED = {
    "a plain test": ("def test_it(devperf): devperf(waits)", []),
    "our own loop": ("async def test_it(devperf): await devperf(waits)", []),
    "our own loop, marker alone": ("@pytest.mark.devperf\nasync def test_it(): await waits()", []),
    "asyncio": ("@pytest.mark.asyncio\nasync def test_it(devperf): await devperf(waits)", [ASYNCIO]),
    "trio": (
        "@pytest.fixture\ndef anyio_backend(): return 'trio'\n"
        "@pytest.mark.anyio\nasync def test_it(devperf): await devperf(waits)",
        [ANYIO],
    ),
}

WAITS = """
import os, pathlib
import pytest
try:
    import anyio
except ImportError:
    anyio = None
import asyncio

CALLS = []
sleep = anyio.sleep if anyio else asyncio.sleep

async def waits():
    CALLS.append(1)
    if len(CALLS) > 5:
        await sleep(0)
        pathlib.Path(__file__).with_name("waits.txt").touch()
        await sleep(3600)

"""
# The first sleep makes anyio import its backend. A Ctrl-C in that import passes through `exec` of a string (a
# dataclass), and CPython then ends by SIGINT once the program is done, even if the exception was caught.


@pytest.mark.slow
@needs("anyio", "trio", "pytest_asyncio")
@pytest.mark.usefixtures("usual_signals")
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals as POSIX knows them")
@pytest.mark.parametrize("how", INTERRUPTED)
def test_one_ctrl_c_ends_a_measurement(suite: Suite, how: str) -> None:
    test, plugins = INTERRUPTED[how]
    suite.pytester.makepyfile(test_it=WAITS + test)
    (suite.path / "conftest.py").unlink()
    words = [word for name in ("pytest_devperf.plugin", *plugins) for word in ("-p", name)]
    with (
        (suite.path / "output.txt").open("wb") as file,
        running(
            [sys.executable, "-m", "pytest", *words, "-p", "no:cacheprovider", *FEW],
            cwd=suite.path,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        until(lambda: (suite.path / "waits.txt").exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        code = process.wait()

    output = (suite.path / "output.txt").read_text()
    assert code == pytest.ExitCode.INTERRUPTED, output
    assert "never awaited" not in output
    if how != "asyncio":  # old versions of pytest-asyncio leave the task of the test behind
        assert "was destroyed" not in output


WRONG = {
    "two at once": (
        "await asyncio.gather(devperf(nothing), devperf.measure('b', nothing))",
        "*'latency.b' was called during the measurement of 'latency': measure one after the other",
        True,
    ),
    "one within another": (
        "await devperf(nested, devperf)",
        "*'latency.inner' was called during the measurement of 'latency': measure one after the other",
        True,
    ),
    "a plain function awaited": (
        "await devperf(len, 'x')",
        "*TypeError: *int*await*: len is no coroutine function, so devperf(len, ...) is called without await",
        False,
    ),
    "a coroutine loaded": (
        "await devperf.load(nothing)",
        "*devperf.load calls a plain function, and nothing is none*load the object in a plain function",
        False,
    ),
    "a function that returns a coroutine loaded": (
        "devperf.load(lambda: nothing())",
        "*returned a coroutine, so only its creation would be timed*",
        False,
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("measuring", [True, False], ids=["measuring", "once"])
def test_what_is_wrong_in_a_coroutine_is_explained(suite: Suite, wrong: str, *, measuring: bool) -> None:
    line, words, only_measuring = WRONG[wrong]
    suite.pytester.makepyfile(
        f"""
        import asyncio
        async def nothing(): await asyncio.sleep(0)
        async def nested(devperf):
            await devperf.measure("inner", nothing)
        async def test_it(devperf):
            {line}
        """
    )
    args = ("--devperf", "--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")
    result = suite.run(*(args if measuring else ()), "--devperf-target=host")

    if only_measuring and not measuring:
        result.assert_outcomes(passed=1)
        return
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([words])


@needs("hypothesis")
@pytest.mark.parametrize("measuring", [True, False], ids=["measuring", "once"])
def test_a_property_test_is_refused_with_the_advice_to_use_fixed_inputs(suite: Suite, *, measuring: bool) -> None:
    suite.pytester.makepyfile(
        """
        from hypothesis import given, settings, strategies, HealthCheck
        @settings(suppress_health_check=list(HealthCheck))
        @given(number=strategies.integers())
        def test_it(devperf, number):
            devperf(abs, number)
        """
    )
    result = suite.run(*(["--devperf"] if measuring else []))

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*hypothesis calls this test repeatedly*without @given*"])
