"""What a test does wrong ends in one clear sentence, and leaves the other cases unharmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

WRONG = {
    "a generator in a plain call": (
        """
        def numbers():
            yield 1
        def test_it(devperf):
            devperf(numbers)
        """,
        "*numbers returns a generator*devperf.stream*",
    ),
    "a second unnamed call": (
        """
        def test_it(devperf):
            devperf(len, [])
            devperf(len, [])
        """,
        "*'latency' is measured twice in one test: name the second measurement*",
    ),
    "a value that is no number": (
        """
        def test_it(devperf):
            devperf.record("boxes", float("nan"))
        """,
        "*devperf.record('boxes', nan) is not a finite number*",
    ),
    "a hostile metric name": (
        """
        def test_it(devperf):
            devperf.measure("../x", len, [])
        """,
        "*'../x' is not a valid metric name: use letters*",
    ),
    "a hostile name of a recorded value": (
        """
        def test_it(devperf):
            devperf.record("../x y", 7)
        """,
        "*'../x y' is not a valid metric name: use letters*",
    ),
    "a model that is not there": (
        """
        def test_it(devperf):
            devperf.model("nowhere.onnx")
        """,
        "*no model at *nowhere.onnx: pass a path relative to the test file*",
    ),
    "a command line in one text": (
        """
        def test_it(devperf):
            devperf.command("ls -l")
        """,
        "*devperf.command takes a list of arguments: split the command line*",
    ),
    "the result of a call instead of the function": (
        """
        def test_it(devperf):
            devperf(sorted([2, 1]))
        """,
        "*devperf was given a list, which is not callable: pass the function, and its arguments after it*",
    ),
    "a coroutine instead of the function": (
        """
        async def fetch(): pass
        def test_it(devperf):
            devperf(fetch())
        """,
        "*devperf was given a coroutine, which is not callable: pass the function*",
    ),
    "a setup that cannot be called": (
        """
        def test_it(devperf):
            devperf.measure("x", len, "x", setup=5)
        """,
        "*setup= was given an int, which is not callable*",
    ),
    "nothing that could be streamed": (
        """
        def test_it(devperf):
            devperf.stream([1])
        """,
        "*devperf.stream was given a list, which is not callable*",
    ),
    "nothing that could be loaded": (
        """
        def test_it(devperf):
            devperf.load(None)
        """,
        "*devperf.load was given a NoneType, which is not callable*",
    ),
    "a generator loaded": (
        """
        def items(): yield 1
        def test_it(devperf):
            devperf.load(items)
        """,
        "*devperf.load calls a plain function, and items is none*",
    ),
    "the fixture by another way": (
        """
        import pytest
        @pytest.fixture
        def mine(request):
            return request.getfixturevalue("devperf")
        def test_it(mine):
            mine(len, [])
        """,
        "*devperf cannot be requested with request.getfixturevalue*",
    ),
}


@pytest.mark.parametrize("measuring", [True, False], ids=["measuring", "once"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_case_fails_with_its_sentence(suite: Suite, wrong: str, measuring: bool) -> None:
    source, sentence = WRONG[wrong]
    suite.pytester.makepyfile(test_wrong=source, test_right="def test_right(devperf): devperf(len, [])")
    arguments = ("--devperf", "--devperf-processes=1") if measuring else ()
    result = suite.run(*arguments)
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 1
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == 1
    result.stdout.fnmatch_lines([sentence])
    result.stdout.no_fnmatch_line("During handling of the above exception*")
    assert not [line for line in result.outlines if "pytest_devperf/" in line], "a traceback buries the sentence"
    assert not [line for line in result.outlines if line.count("test_wrong.py::test_it") > 1], "pytest names the test"


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ("round=3", "*test_it*has no keyword 'round': did you mean 'rounds'?*"),
        ("rounds=0", "*test_it*(rounds=0): must be a whole number of at least 1*"),
        ("tolerance=3", "*test_it*(tolerance=3): write X% or METRIC=X%, with the % sign*"),
        ("processes=9, rounds=3", "*test_it*every process start needs at least one round*"),
        ("id=''", "*test_it*must be a non-empty text*"),
        ("rounds='many'", "*test_it*(rounds='many'): must be a whole number of at least 1*"),
        ("memory='no'", "*test_it*(memory='no'): must be True or False"),
        ("xyzzy=1", "*test_it*has no keyword 'xyzzy': use one of *tolerance*"),
        (
            "order='sequential'",
            "*test_it*has no keyword 'order': it applies to a whole session, so use --devperf-order or *",
        ),
    ],
)
def test_a_wrong_marker_is_a_usage_error_that_names_the_test(suite: Suite, keywords: str, sentence: str) -> None:
    suite.pytester.makepyfile(
        test_marker=f"""
        import pytest
        @pytest.mark.devperf({keywords})
        def test_it(devperf):
            devperf(len, [])
        """
    )
    result = suite.run("--devperf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([sentence])


def test_two_cases_of_one_name_are_refused(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_twins="""
        import pytest
        @pytest.mark.devperf(id="same")
        def test_a(devperf): devperf(len, [])
        @pytest.mark.devperf(id="same")
        def test_b(devperf): devperf(len, [])
        """
    )
    result = suite.run("--devperf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*both called 'same'*"])


def test_a_workloads_own_exception_is_shown_without_the_plugins_frames(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_broken="""
        def broken():
            raise ValueError("mine")
        def test_it(devperf):
            devperf(broken)
        """
    )
    for arguments in (("--devperf", "--devperf-target=host"), ()):
        result = suite.pytester.runpytest_inprocess(*arguments)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["*devperf(broken)*", "E  *ValueError: mine"])
        result.stdout.no_fnmatch_line("*meter.py*")
        result.stdout.no_fnmatch_line("*fixture.py*")


def test_a_tolerance_without_a_metric_is_reported(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    result = two_cases.run("--devperf-compare=base", "--devperf-tolerance=latncy=5%", "--devperf-tolerance=latency=9%")
    assert "--devperf-tolerance=latncy=...: no measured metric has this name" in result.stdout.str()
    assert "tolerance=latency" not in result.stdout.str()


@pytest.mark.parametrize(
    "argument", ["(each for each in range(5))", "iter([1, 2])", "reversed([1, 2])", "iter({1: 2}.items())"]
)
def test_an_argument_that_the_first_call_uses_up_is_refused(suite: Suite, argument: str) -> None:
    suite.pytester.makepyfile(f"def test_it(devperf):\n    devperf(list, {argument})\n")

    result = suite.run("--devperf", "--devperf-target=host", "--devperf-rounds=3", "--devperf-iterations=5")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*argument 0 of list is a *, which the first call used up: pass a list*"])


UNFINISHED = {
    "a future": ("POOL.submit(len, 'x')", "*returned a Future, so only its creation would be timed*sync=*"),
    "a task": ("asyncio.ensure_future(fetch())", "*returned a*Task, so only its creation would be timed*"),
    "a coroutine": ("fetch()", "*returned a coroutine, so only its creation would be timed*async def*"),
    "a generator": ("(each for each in 'x')", "*returned a generator, so only its creation would be timed*stream*"),
}


@pytest.mark.parametrize("measuring", [True, False], ids=["measuring", "once"])
@pytest.mark.parametrize("result", UNFINISHED)
def test_a_result_that_is_still_to_be_made_is_refused(suite: Suite, result: str, *, measuring: bool) -> None:
    made, words = UNFINISHED[result]
    suite.pytester.makepyfile(
        f"""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        POOL = ThreadPoolExecutor(1)
        async def fetch(): pass
        async def test_it(devperf):
            devperf(lambda: {made})
        """
    )
    result = suite.run(*(["--devperf"] if measuring else []), "--devperf-target=host")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([words])


def test_a_future_that_is_waited_for_is_measured(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        from concurrent.futures import Future, ThreadPoolExecutor
        def test_it(devperf):
            with ThreadPoolExecutor(1) as pool:
                devperf.measure("pool", pool.submit, len, "x", sync=Future.result)
        """
    )
    scalars = ("--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")

    suite.run("--devperf", "--devperf-target=host", *scalars).assert_outcomes(passed=1)


def test_an_iterator_without_an_end_is_measured(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        import itertools
        def endless():
            while True: yield 1
        def test_generator(devperf): devperf(next, endless())
        def test_counter(devperf): devperf(next, itertools.count())
        """
    )
    scalars = ("--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")

    suite.run("--devperf", "--devperf-target=host", *scalars).assert_outcomes(passed=2)


RAISES = """
import pytest

CALLS = []

def work():
    CALLS.append(1)
    if len(CALLS) == {call}:
        raise KeyError("in call {call}")

def test_it(devperf):
    devperf(work)
"""


@pytest.mark.parametrize("call", [1, 17])
def test_a_workload_that_raises_is_shown_without_a_frame_of_ours_or_of_contextlib(suite: Suite, call: int) -> None:
    suite.pytester.makepyfile(test_it=RAISES.replace("{call}", str(call)))
    scalars = ("--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")

    result = suite.run("--devperf", "--devperf-target=host", "--tb=short", *scalars)

    result.assert_outcomes(failed=1)
    shown = [line.partition(": in ")[2] for line in result.outlines if ": in " in line]
    assert shown == ["test_it", "work"]


def test_a_measurement_that_the_test_broke_off_is_none(suite: Suite) -> None:
    caught = RAISES.replace("{call}", "17").replace(
        "    devperf(work)", "    with pytest.raises(KeyError):\n        devperf(work)\n    devperf.record('x', 1.0)"
    )
    suite.pytester.makepyfile(test_it=caught)
    scalars = ("--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")

    result = suite.run("--devperf", "--devperf-target=host", *scalars)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the measurement of 'latency' ended with KeyError, which the test caught*"])
