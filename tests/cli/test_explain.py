"""`devperf explain`: profiles that saved runs keep, and files for other viewers."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from pytest_devperf.cli.command import main
from pytest_devperf.explain.profile import Edge, Profile, Row
from pytest_devperf.explain.stacks import stacks_of


def profile(times: int = 1, **fields) -> Profile:
    rows = (
        Row("shop/cart.py checkout", 1, (10_000.0, 10_000.0)),
        Row("shop/cart.py total", times, (200_000.0 * times,) * 2),
        Row("shop/tax.py rate", None, (30_000.0, 30_000.0)),
    )
    edges = (Edge(0, 1, times),)
    given = {"metric": "latency", "runtime": "CPython 3.13.0", "iterations": 30, "plain_ns": 240e3, "rows": rows}
    return Profile(**{**given, "edges": edges, **fields})


@pytest.fixture
def saved(store, make_run):
    for label, day, taken in (("main", 1, profile()), ("new", 2, profile(5))):
        made = make_run(label, day, shop=float(day))
        store.save(replace(made, cases=(replace(made.cases[0], profiles=(taken,)),)))
    return store


def lines(capsys) -> list[str]:
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_saved_case_shows_where_its_time_goes(saved, capsys):
    assert main(["explain", "shop", "--run", "main"]) == 0
    found = lines(capsys)
    assert "test_a.py::test_shop: latency, CPython 3.13.0" in found
    assert "shop/cart.py total 200.0 µs 83.3 % 1" in found
    assert "shop/tax.py rate 30.00 µs 12.5 % varies" in found


def test_two_runs_show_what_changed_between_them(saved, capsys):
    assert main(["explain", "shop", "--run", "main", "--to", "new"]) == 0
    found = lines(capsys)
    assert "shop/cart.py total 200.0 µs 1.000 ms +800.0 µs 1 -> 5 shop/cart.py checkout" in found
    assert "shop/cart.py +800.0 µs" in found


def test_the_newest_run_is_taken_if_none_is_named(saved, capsys):
    assert main(["explain", "shop"]) == 0
    assert any(line.startswith("run new, ") for line in lines(capsys))


def test_stacks_are_written_for_flame_graphs(saved, capsys, tmp_path):
    assert main(["explain", "shop", "--run", "main", "--format", "collapsed", "-o", "stacks.txt"]) == 0
    assert (tmp_path / "stacks.txt").read_text().splitlines() == [
        "shop/cart.py checkout 10000",
        "shop/cart.py checkout;shop/cart.py total 200000",
        "shop/tax.py rate 30000",
    ]


def test_speedscope_gets_a_profile_for_each_run(saved, capsys):
    assert main(["explain", "shop", "--run", "main", "--to", "new", "--format", "speedscope"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["endValue"] for each in document["profiles"]] == [240_000, 1_040_000]
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    (first, _) = document["profiles"]
    assert [[frames[at] for at in sample] for sample in first["samples"]][1] == [
        "shop/cart.py checkout",
        "shop/cart.py total",
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["explain", "nothing"], "no case named 'nothing'"),
        (["explain", "test_plain", "--run", "plain"], "no profile of test_a.py::test_plain in plain: save it again"),
        (["explain", "shop", "--run", "main", "--to", "new", "--format", "collapsed"], "hold one profile"),
    ],
    ids=["no such case", "no profile", "two profiles"],
)
def test_what_cannot_be_shown_is_named(saved, make_run, capsys, words, sentence):
    saved.save(make_run("plain", 3, plain=1.0))
    assert main(words) == 4
    assert sentence in capsys.readouterr().err


def test_recursion_ends_and_loses_no_more_than_what_cannot_be_seen():
    rows = (Row("a.py main", 1, (100.0,)), Row("a.py walk", 9, (900.0,)), Row("a.py visit", 9, (900.0,)))
    taken = profile(rows=rows, edges=(Edge(0, 1, 1), Edge(1, 2, 9), Edge(2, 1, 8), Edge(1, 1, 3)))
    stacks = dict(stacks_of(taken))
    assert ("a.py main", "a.py walk", "a.py visit") in stacks
    assert 0 < sum(stacks.values()) <= 1900
