"""Where the time of a change went, as users see it: real interpreters, and code that is edited between two runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

pytestmark = pytest.mark.slow

CART = """
TIMES = 1

def price(item):
    return item * 2

def total(items):
    amount = 0
    for item in items:
        amount += price(item)
    return amount

def checkout(items):
    for _ in range(TIMES):
        amount = total(items)
    return amount
"""

CASES = """
from shop import cart

def test_checkout(devperf):
    devperf(cart.checkout, range(300))
"""

VERDICT = """

def pytest_devperf_compare(config, record, baseline, policy):
    from pytest_devperf.record.record import Change, Comparison

    old, new = baseline.runs[0].record.metrics[0].robust, record.metrics[0].robust
    change = Change(metric="latency", verdict="regressed", baseline=old, candidate=new, delta=new - old, delta_pct=900)
    return Comparison(verdict="regressed", changes=(change,))
"""
"""A busy machine's tests shall not depend on its mood: what is explained is not judged here."""

QUICK = ("--devperf-processes=2", "--devperf-rounds=2", "--devperf-iterations=5")


@pytest.fixture
def shop(suite: Suite) -> Suite:
    suite.ini("pythonpath = .", "filterwarnings = ignore")
    suite.pytester.makepyfile(test_shop=CASES, conftest=VERDICT)
    suite.pytester.mkpydir("shop")
    (suite.path / "shop" / "cart.py").write_text(CART)
    return suite


def make_slower(shop: Suite) -> None:
    (shop.path / "shop" / "cart.py").write_text(CART.replace("TIMES = 1", "TIMES = 10"))


@pytest.mark.slow
def test_a_regression_of_a_saved_run_names_the_function_that_is_called_more_often(shop: Suite) -> None:
    assert shop.run_here("--devperf-save=base", *QUICK, explain=None).ret == 0
    (saved,) = shop.saved()
    document = json.loads(saved.read_text(encoding="utf-8"))
    cases = {case["id"].partition("::")[2]: case for case in document["runs"][0]["cases"]}
    (profile,) = cases["test_checkout"]["profiles"]
    assert cases["test_checkout"]["comparison"] is None
    assert {row[0]: row[1] for row in profile["rows"]} == {
        "shop/cart.py price": 300,
        "shop/cart.py total": 1,
        "shop/cart.py checkout": 1,
    }

    make_slower(shop)
    result = shop.run_here("--devperf-compare=base", *QUICK, "--devperf-json=run.json", explain=None)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["latency regressed: *", "where: shop/cart.py total +* of +* (*%), calls 1 -> 10 from checkout"]
    )
    slow = shop.cases()["test_shop.py::test_checkout"]
    (cause,) = slow["comparison"]["explanation"]["causes"]
    assert (cause["name"], cause["certain"], cause["calls"]) == ("shop/cart.py total", True, [1, 10])
    assert {taken["process"][-1] for taken in slow["metrics"]} == {1}  # nothing of a profiled start is a sample

    # A run that was saved by a version without profiles is read as before.
    for case in cases.values():
        del case["profiles"]
    saved.write_text(json.dumps(document), encoding="utf-8")
    result = shop.run_here("--devperf-compare=base", *QUICK, explain=None)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["where: not known, because the baseline holds no profile: *"])


@pytest.mark.slow
def test_nothing_is_profiled_if_nobody_asks(shop: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)  # tox sets it
    shop.pytester.makepyfile(
        test_shop="""
        import os, pathlib
        def test_it(devperf):
            with open(pathlib.Path(__file__).parent / "starts.txt", "a") as file:
                file.write(os.environ.get("PYTHONHASHSEED", "random") + chr(10))
            devperf(sorted, [3, 1, 2])
        """
    )
    assert shop.run_here("--devperf-save=base", *QUICK, explain="off").ret == 0
    assert (shop.path / "starts.txt").read_text().split() == ["random"] * 2
    assert shop.run_here("--devperf-save=base", *QUICK, explain=None).ret == 0
    assert (shop.path / "starts.txt").read_text().split() == ["random"] * 4 + ["0"] * 2


RENDER = """
import sys
SHADOW_MS = 2.0
print("frame", 4.0 + SHADOW_MS, "ms")
if "--passes" in sys.argv:
    print("pass lights 4.0")
    print("pass shadows", SHADOW_MS)
"""

RENDER_CASES = """
import sys
from pytest_devperf import Operator, OperatorReader

def parse_frame(text):
    return [float(text.split()[1]) * 1e6]

def parse_passes(text):
    lines = [line.split() for line in text.splitlines() if line.startswith("pass ")]
    return [Operator("pass", name, float(ms) * 1e6) for _, name, ms in lines]

FRAMES = OperatorReader(parse=parse_frame, parse_operators=parse_passes, options=("--passes",))

def test_frame(devperf):
    devperf.command([sys.executable, "render.py"], push=["render.py"], read=FRAMES)
"""


@pytest.mark.slow
def test_a_program_is_explained_by_the_table_that_its_reader_reads(shop: Suite) -> None:
    shop.pytester.makepyfile(test_shop=RENDER_CASES)
    (shop.path / "render.py").write_text(RENDER)
    assert shop.run_here("--devperf-save=base", *QUICK, explain=None).ret == 0

    (shop.path / "render.py").write_text(RENDER.replace("SHADOW_MS = 2.0", "SHADOW_MS = 5.0"))
    result = shop.run_here("--devperf-compare=base", *QUICK, explain=None)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["where: likely pass shadows +3.00 of +3.00 ms (100 %)"])

    (shop.path / "render.py").write_text(RENDER.replace("SHADOW_MS = 2.0", "SHADOW_MS = 5.0").replace("--pa", "--x"))
    result = shop.run_here("--devperf-compare=base", *QUICK, explain=None)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["where: the program printed no table of operators"])


def test_an_unknown_choice_is_refused(shop: Suite) -> None:
    result = shop.run_plain("--devperf", "--devperf-explain=on")
    assert result.ret == 4
    assert "--devperf-explain" in result.stderr.str()
