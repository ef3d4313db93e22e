"""Where the time of a change went: made-up profiles, whose causes are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_devperf.explain.attribution import attribute, parents_of
from pytest_devperf.explain.cause import Cause, Explanation, MeasuredChange, explain
from pytest_devperf.explain.difference import differ
from pytest_devperf.explain.profile import CallCost, Edge, Profile, Row, merge

Function = tuple[float | None, float]
"""Calls and own time in µs."""


def profile(functions: dict[str, Function], edges: dict[tuple[str, str], float] | None = None, **fields) -> Profile:
    """A profile of two process starts that differ by a thousandth."""
    names = list(functions)
    rows = [Row(f"shop/{name}", calls, (us * 1000, us * 1001)) for name, (calls, us) in functions.items()]
    return Profile(
        **{
            "metric": "latency",
            "runtime": "CPython 3.13.0",
            "iterations": 10,
            "plain_ns": 1e6,
            "rows": tuple(rows),
            "edges": tuple(Edge(names.index(a), names.index(b), calls) for (a, b), calls in (edges or {}).items()),
            **fields,
        }
    )


REST: dict[str, Function] = {f"other.py f{at}": (1, 100) for at in range(8)}
"""Functions that stay as they are: they show how fast the machine is."""


def explained(old: Profile, new: Profile, delta_us: float, *, in_turns: bool = True) -> Explanation:
    return explain(old, new, MeasuredChange(metric="latency", delta_ns=delta_us * 1000, in_turns=in_turns))


def causes(old: Profile, new: Profile, delta_us: float, **how) -> list[tuple[str, bool]]:
    return [(cause.name, cause.certain) for cause in explained(old, new, delta_us, **how).causes]


def test_a_function_that_takes_longer_is_likely_the_cause() -> None:
    old = profile({"cart.py total": (1, 200), **REST})
    new = profile({"cart.py total": (1, 300), **REST})
    (cause,) = explained(old, new, 100).causes
    assert cause == Cause(name="shop/cart.py total", kind="function", share=pytest.approx(1.0), certain=False)


def test_a_function_that_is_called_more_often_is_certainly_the_cause() -> None:
    edges = {("cart.py checkout", "cart.py total"): 1.0}
    old = profile({"cart.py checkout": (1, 50), "cart.py total": (1, 20), **REST}, edges)
    edges = {("cart.py checkout", "cart.py total"): 50.0}
    new = profile({"cart.py checkout": (1, 52), "cart.py total": (50, 1000), **REST}, edges)
    (cause,) = explained(old, new, 980).causes
    assert (cause.name, cause.certain, cause.calls) == ("shop/cart.py total", True, (1, 50))
    assert cause.caller == "shop/cart.py checkout"


def test_what_a_function_calls_each_time_is_its_own_growth() -> None:
    def shop(times: int) -> Profile:
        functions = {"a.py main": (1, 10), "a.py total": (times, times), "a.py price": (100 * times, 90 * times)}
        edges = {("a.py main", "a.py total"): times, ("a.py total", "a.py price"): 100 * times}
        return profile({**functions, **REST}, edges)

    (cause,) = explained(shop(1), shop(5), 360).causes
    assert (cause.name, cause.calls, round(cause.share, 2)) == ("shop/a.py total", (1, 5), 1.0)


def test_a_new_function_carries_what_it_calls() -> None:
    old = profile({"a.py main": (1, 10), **REST})
    new = profile(
        {"a.py main": (1, 10), "a.py extra": (1, 5), "b.py deep": (30, 300), **REST},
        {("a.py main", "a.py extra"): 1, ("a.py extra", "b.py deep"): 30},
    )
    (cause,) = explained(old, new, 305).causes
    assert (cause.name, cause.calls) == ("shop/a.py extra", (0, 1))


def test_a_renamed_function_is_no_cause() -> None:
    old = profile({"a.py before": (1, 400), "b.py slow": (1, 100), **REST})
    new = profile({"a.py after": (1, 400), "b.py slow": (1, 200), **REST})
    assert causes(old, new, 100) == [("shop/b.py slow", False)]


def test_the_speed_of_the_machine_is_no_cause() -> None:
    old = profile({"a.py one": (1, 200), **REST})
    new = profile({name: (calls, 1.3 * us) for name, (calls, us) in {"a.py one": (1, 300), **REST}.items()})
    (cause,) = explained(old, new, 100).causes
    assert (cause.name, round(cause.share, 2)) == ("shop/a.py one", 1.0)


def test_a_function_that_takes_most_of_the_time_is_not_taken_for_the_speed_of_the_machine() -> None:
    costs = {"call_cost": CallCost(300.0, 400.0)}
    assert causes(profile({"a.py all": (1, 900)}, **costs), profile({"a.py all": (1, 1800)}, **costs), 900) == [
        ("shop/a.py all", False)
    ]


def test_the_profilers_own_cost_is_no_growth() -> None:
    costs = {"call_cost": CallCost(300.0, 400.0)}
    edges = {("a.py main", "a.py step"): 100.0}
    old = profile({"a.py main": (1, 240), "a.py step": (100, 60), **REST}, edges, **costs)
    edges = {("a.py main", "a.py step"): 1100.0}
    new = profile({"a.py main": (1, 640), "a.py step": (1100, 560), **REST}, edges, **costs)
    rows = {row.name: row.delta_ns for row in differ(old, new).rows}
    assert rows["shop/a.py step"] == pytest.approx(
        200_000, rel=0.01
    )  # 500 µs, of which 1000 x 300 ns are the profiler's


def test_a_function_whose_time_the_profiler_hides_is_named_by_its_count() -> None:
    costs = {"call_cost": CallCost(600.0, 700.0)}
    edges = {("a.py main", "a.py step"): 10.0}
    old = profile({"a.py main": (1, 7), "a.py step": (10, 6), "a.py near": (1, 100), **REST}, edges, **costs)
    edges = {("a.py main", "a.py step"): 4010.0}
    functions = {"a.py main": (1, 7), "a.py step": (4010, 300), "a.py near": (1, 180), **REST}
    new = profile(functions, edges, **costs)
    assert explained(old, new, 150).causes == (
        Cause(
            name="shop/a.py step",
            kind="function",
            share=None,
            certain=True,
            calls=(10, 4010),
            caller="shop/a.py main",
        ),
    )


def test_a_small_guess_is_left_out_beside_a_certain_cause() -> None:
    old = profile({"a.py step": (1, 20), "a.py near": (1, 100), **REST})
    assert causes(old, profile({"a.py step": (9, 120), "a.py near": (1, 150), **REST}), 150) == [
        ("shop/a.py step", True)
    ]
    assert ("shop/a.py near", False) in causes(
        old, profile({"a.py step": (9, 120), "a.py near": (1, 250), **REST}), 250
    )


def test_growth_of_many_functions_of_a_file_is_shown_by_the_file() -> None:
    many = {f"lexer.py f{at}": (1, 30.0) for at in range(10)}
    old = profile({**many, **REST, **{f"more.py g{at}": (1, 60.0) for at in range(10)}})
    new = profile({**dict.fromkeys(many, (1, 40.0)), **REST, **{f"more.py g{at}": (1, 60.0) for at in range(10)}})
    found = explained(old, new, 100)
    assert found.spread
    assert [(cause.name, cause.kind) for cause in found.causes] == [("shop/lexer.py", "file")]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (profile({"a.py one": (1, 200), **REST}), "the profile does not show it (+0 % of it)"),
        (profile({}), "no function of Python takes part"),
        (profile({"a.py one": (1, 200)}, problem="other threads do the work"), "other threads do the work"),
    ],
    ids=["not repeated", "no function", "threads"],
)
def test_nothing_is_named_without_evidence(new: Profile, reason: str) -> None:
    found = explained(profile({"a.py one": (1, 200), **REST}), new, 100)
    assert (found.causes, found.reason) == ((), reason)


def test_what_only_one_process_start_shows_is_not_named() -> None:
    old = profile({"a.py one": (1, 200), **REST})
    row = Row("shop/a.py one", 1, (200_000.0, 400_000.0))
    new = replace(profile(REST), rows=(row, *profile(REST).rows))
    assert explained(old, new, 100).causes == ()


def test_times_alone_name_less_if_both_codes_did_not_alternate() -> None:
    old = profile({"a.py one": (1, 200), **REST})
    new = profile({"a.py one": (1, 260), **REST})
    assert causes(old, new, 60) == [("shop/a.py one", False)]
    assert causes(old, new, 60, in_turns=False) == []


def test_times_of_another_interpreter_are_not_compared() -> None:
    old = profile({"a.py one": (1, 200), "a.py two": (1, 10), **REST}, runtime="CPython 3.12.0")
    assert causes(old, profile({"a.py one": (1, 500), "a.py two": (1, 10), **REST}), 300) == []
    assert causes(old, profile({"a.py one": (1, 200), "a.py two": (9, 310), **REST}), 300) == [("shop/a.py two", True)]


def test_an_improvement_is_explained_alike() -> None:
    old = profile({"a.py one": (1, 500), **REST})
    (cause,) = explained(old, profile({"a.py one": (1, 200), **REST}), -300).causes
    assert (cause.name, round(cause.share, 2)) == ("shop/a.py one", 1.0)


def test_a_count_that_differs_between_process_starts_is_not_used() -> None:
    old = profile({"a.py one": (1, 200), **REST})
    starts = [replace(old, rows=(Row("shop/a.py one", calls, (300_000.0,)),)) for calls in (4, 5)]
    merged = merge(starts)
    assert (merged.rows[0].calls, merged.rows[0].self_ns) == (None, (300_000.0, 300_000.0))
    assert merge([starts[0], starts[0]]).rows[0].calls == 4


amounts = st.floats(min_value=-1e6, max_value=1e6)


@given(st.dictionaries(st.sampled_from("abcdef"), amounts), st.data())
@settings(deadline=None)
def test_attributing_growth_keeps_its_sum(deltas: dict[str, float], data: st.DataObject) -> None:
    parents = {
        name: [(caller, data.draw(st.floats(min_value=0, max_value=1)))]
        for name in deltas
        for caller in [data.draw(st.sampled_from("abcdef"))]
    }
    known = {name: deltas.get(name, 0.0) for name in "abcdef"}
    assert sum(attribute(known, parents).values()) == pytest.approx(sum(known.values()), abs=1e-3)


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(1, 1000)), min_size=4, max_size=20))
@settings(deadline=None)
def test_unchanged_code_has_no_difference(functions: list[tuple[int, float]]) -> None:
    same = profile({f"a.py f{at}": each for at, each in enumerate(functions)}, {})
    assert parents_of(same, same) == {}
    largest = max(us for _, us in functions) * 1000
    assert all(abs(row.delta_ns) < 0.01 * largest for row in differ(same, same).rows)
