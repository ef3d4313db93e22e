"""The tree behind a flame graph: widths of now, and growth where the explanation sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_reports import made_profile

from pytest_devperf.explain.flame import Frame, flame_of, own_times
from pytest_devperf.explain.profile import Profile, Row


def frames(frame: Frame) -> list[Frame]:
    return [frame, *(below for each in frame.frames.values() for below in frames(each))]


def test_a_function_that_is_called_more_often_has_the_growth_of_what_it_calls() -> None:
    root = flame_of(made_profile(1), made_profile(4), 442_000.0, 562_000.0)

    (checkout,) = root.frames.values()
    assert checkout.name == "shop/cart.py checkout"
    assert root.now_ns == 562_000.0
    assert checkout.now_ns == pytest.approx(562_000.0)
    total = checkout.frames["shop/cart.py total"]
    assert total.frames["shop/cart.py price"].now_ns == pytest.approx(40_000.0)
    assert {each.name for each in frames(root) if abs(each.grown_ns) > 1} == {"shop/cart.py total"}
    assert total.grown_ns == pytest.approx(120_000.0)


def test_the_table_holds_every_function_with_its_calls() -> None:
    rows = own_times(made_profile(1), made_profile(4), 442_000.0, 562_000.0)

    assert rows[0].name == "shop/cart.py total"
    assert rows[0].calls == (1, 4)
    assert {each.name for each in rows} == {row.name for row in made_profile(1).rows}
    assert sum(each.now_ns for each in rows) == pytest.approx(562_000.0)


def nodes(*names: str, us: float = 100.0) -> Profile:
    rows = tuple(Row(name, 1.0, (us * 1000,)) for name in names)
    return Profile(metric="m", kind="nodes", runtime="r", iterations=3, plain_ns=us * 1000 * len(names), rows=rows)


def test_nodes_stand_beside_each_other_in_the_order_of_execution() -> None:
    kept = [f"Conv /layer{at}" for at in range(8)]
    root = flame_of(nodes(*kept), nodes(*kept[:4], "Sin /s", *kept[4:]), 800_000.0, 900_000.0)

    assert list(root.frames) == [*kept[:4], "added Sin", *kept[4:]]
    assert root.frames["added Sin"].grown_ns == pytest.approx(100_000.0)
    removed = own_times(nodes(*kept, "Sin /s"), nodes(*kept), 900_000.0, 800_000.0)[0]
    assert (removed.name, removed.now_ns) == ("removed Sin", 0.0)
    assert removed.grown_ns == pytest.approx(-100_000.0)


def test_a_renamed_function_is_one_row_of_the_table() -> None:
    old, new = (
        Profile(
            metric="m",
            runtime="r",
            iterations=3,
            plain_ns=3e5,
            rows=(Row(f"a.py {name}", 1, (1e5,)), *(Row(f"b.py f{at}", 1, (1e5,)) for at in range(4))),
        )
        for name in ("was", "now")
    )
    names = {each.name for each in own_times(old, new, 5e5, 6e5)}
    assert "a.py now (was was)" in names
    assert flame_of(old, new, 5e5, 6e5).frames["a.py now"].now_ns > 0


@given(st.integers(0, 5), st.integers(0, 5), st.floats(0, 1e9), st.floats(0, 1e9))
def test_the_frames_below_one_never_take_longer_than_it(was: int, now: int, then_ns: float, now_ns: float) -> None:
    for frame in frames(flame_of(made_profile(was), made_profile(now), then_ns, now_ns)):
        assert sum(each.now_ns for each in frame.frames.values()) <= frame.now_ns * (1 + 1e-9) + 1e-6
