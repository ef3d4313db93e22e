"""The profile of a Python call: exact counts, and names that outlive an edit. No test asserts a time."""

from __future__ import annotations

import asyncio
import cProfile
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pytest_devperf.case.workload import Call
from pytest_devperf.explain.attribution import parents_of
from pytest_devperf.explain.profile import Profile
from pytest_devperf.explain.python import files_of
from pytest_devperf.session.explaining.choice import fitting
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.host.call import AwaitedCallRunner, CallRunner

SHOP = """
import re, threading

TIMES = 1

def price(item):
    return item * 2

def total(items):
    return sum(price(item) for item in items)

def checkout(items):
    for _ in range(TIMES):
        amount = total(items)
    return amount

class Cart:
    def size(self):
        return len(re.findall("a", "banana"))

def pair():
    first = lambda: 1
    second = lambda: 2
    return first(), second(), second()

def stream():
    yield price(1)
    yield price(2)

async def fetch():
    return price(3)

def threaded():
    others = [threading.Thread(target=lambda: [price(k) for k in range(100_000)]) for _ in range(2)]
    for each in others:
        each.start()
    for each in others:
        each.join()
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of a user, as if it were imported from `shop/cart.py`."""
    module = ModuleType("shop.cart")
    module.__file__ = str(tmp_path / "cart.py")
    exec(compile(SHOP, module.__file__, "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "shop.cart", module)
    return module


def profile(function: Callable[..., object], *args: object, iterations: int = 4, **fields) -> Profile:
    with CallRunner(Call(function=function, args=args, **fields), clock=SystemClock()) as runner:
        return runner.profile("latency", iterations)


def calls(taken: Profile) -> dict[str, float | None]:
    return {row.name: row.calls for row in taken.rows if row.name.startswith("shop/")}


def test_calls_are_counted_for_each_iteration(shop: ModuleType) -> None:
    taken = profile(shop.checkout, range(5))
    expected = {"shop/cart.py checkout": 1, "shop/cart.py total": 1, "shop/cart.py price": 5}
    if sys.version_info >= (3, 11):  # before, a generator expression does not know the function around it
        assert calls(taken) == expected
    assert calls(taken).items() >= expected.items()
    assert all(row.self_ns[0] >= 0 for row in taken.rows)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="qualified names of code came with 3.11")
def test_a_loop_around_a_call_is_found_by_its_count(shop: ModuleType) -> None:
    old = profile(shop.checkout, range(5))
    shop.TIMES = 7
    new = profile(shop.checkout, range(5))
    assert calls(new)["shop/cart.py total"] == 7
    # What `total` calls each time is its doing; that it is called more often is the doing of no caller.
    assert parents_of(old, new) == {
        "shop/cart.py price": [("shop/cart.py total", 1.0)],
        "shop/cart.py total": [],
    }


def test_lambdas_of_a_function_have_separate_names(shop: ModuleType) -> None:
    assert sorted(calls(profile(shop.pair)).values()) == [1, 1, 2]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="qualified names of code came with 3.11")
def test_methods_and_libraries_have_their_own_names(shop: ModuleType) -> None:
    names = {row.name for row in profile(shop.Cart().size).rows}
    assert {"shop/cart.py Cart.size", "re/__init__.py findall"} <= names
    assert not any("devperf" in name or "profiled" in name for name in names)


def test_streams_and_coroutines_are_used_up(shop: ModuleType) -> None:
    assert calls(profile(shop.stream, shape="stream"))["shop/cart.py price"] == 2
    assert calls(profile(shop.fetch, shape="coroutine"))["shop/cart.py price"] == 1

    async def awaited() -> Profile:
        async with AwaitedCallRunner(Call(function=shop.fetch, shape="coroutine"), clock=SystemClock()) as runner:
            return await runner.profile("latency", 4)

    assert calls(asyncio.run(awaited()))["shop/cart.py price"] == 1


def test_a_setup_is_no_part_of_the_profile(shop: ModuleType) -> None:
    taken = profile(shop.fetch.__call__, setup=lambda: shop.price(1), sync=lambda coroutine: coroutine.close())
    assert "shop/cart.py price" not in calls(taken)


def test_the_work_of_other_threads_is_named_as_that(shop: ModuleType) -> None:
    assert profile(shop.threaded, iterations=1).problem == "other threads do the work"
    assert threading.active_count() >= 1


def test_another_profiler_is_left_alone(shop: ModuleType) -> None:
    other = cProfile.Profile()
    other.enable()
    try:
        taken = profile(shop.pair)
    finally:
        other.disable()
    assert (taken.problem, taken.rows) == ("another profiler or coverage tool is active", ())


def test_a_file_is_named_by_its_module(tmp_path: Path) -> None:
    package, alone = ModuleType("shop"), ModuleType("measured")
    package.__file__, alone.__file__ = str(tmp_path / "shop" / "__init__.py"), str(tmp_path / "measured.py")
    paths = [package.__file__, alone.__file__, "<string>", str(tmp_path / "not_imported.py")]
    modules = {"shop": package, "measured": alone, "__main__": alone, "builtins": sys}
    assert list(files_of(modules, paths).values()) == [
        "shop/__init__.py",
        "measured.py",
        "<string>",
        "not_imported.py",
    ]


def test_more_cases_are_profiled_together_once_their_pace_is_known() -> None:
    assert [fitting(20, 0, 0.0), fitting(2, 0, 0.0), fitting(16, 4, 20.0), fitting(9, 4, 61.0)] == [4, 2, 8, 0]
