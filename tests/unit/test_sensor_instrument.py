"""Tools that trace this thread; tested in separate interpreters, so that this one's tracer is unaffected."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = "from pytest_devperf.sensor.instrument import read_instrument\n"

pytestmark = pytest.mark.usefixtures("untraced")

needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")


def named(before: str, after: str = "") -> str:
    """Ask between two pieces of code; printing waits until nothing traces any more."""
    code = f"{before}\nname = read_instrument()\n{after}\nprint(name)"
    done = subprocess.run([sys.executable, "-c", ASK + code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_an_untraced_thread_has_no_instrument() -> None:
    assert named("") == "None"


def test_coverage_is_named() -> None:
    pytest.importorskip("coverage")

    assert named("import coverage\nc = coverage.Coverage(data_file=None)\nc.start()", "c.stop()") == "coverage"


def test_a_profiler_is_named() -> None:
    assert "cProfile" in named("import cProfile\np = cProfile.Profile()\np.enable()", "p.disable()")


def test_a_profiler_that_is_run_as_a_program_is_named_too() -> None:
    code = "import cProfile\nclass Profile(cProfile.Profile): pass\np = Profile()\np.enable()"

    assert named(code, "p.disable()") == "a profiler (cProfile)"


def test_a_debugger_is_named() -> None:
    code = "import bdb, sys\nd = bdb.Bdb()\nd.reset()\nsys.settrace(d.trace_dispatch)"

    assert named(code, "sys.settrace(None)") == "a debugger (bdb)"


def test_an_unknown_tracer_is_named_by_its_function() -> None:
    code = "import sys\ndef watch(*a): return None\nsys.setprofile(watch)"

    assert named(code, "sys.setprofile(None)") == "__main__.watch"


def test_several_are_all_named() -> None:
    code = "import sys\ndef a(*x): return None\ndef b(*x): return None\nsys.settrace(a)\nsys.setprofile(b)"

    assert named(code, "sys.settrace(None)\nsys.setprofile(None)") == "__main__.a and __main__.b"


def test_another_threads_tracer_does_not_count() -> None:
    code = (
        "import sys, threading\ngo, done = threading.Event(), threading.Event()\n"
        "def work():\n    sys.settrace(lambda *a: None)\n    go.set()\n    done.wait()\n"
        "t = threading.Thread(target=work)\nt.start()\ngo.wait()"
    )

    assert named(code, "done.set()\nt.join()") == "None"


@needs_monitoring
def test_a_monitoring_tool_is_named() -> None:
    assert named("import sys\nsys.monitoring.use_tool_id(3, 'spy')") == "spy"
