"""Hashing any object ends without an error; values that cannot be read are represented by their type."""

from __future__ import annotations

import array
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import describe_inputs, digest_inputs, fingerprint
from pytest_devperf.case.workload import Call
from pytest_devperf.session.starts.facts import plain_fact


class Raises:
    """Raises on every access."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError


class Proxy:
    """A lazy proxy: it answers for its target, `__class__` included, and fails if it is used too early."""

    @property
    def __class__(self) -> Any:
        return dict

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


class Endless(Mapping[int, Any]):
    """A mapping without an end, each of whose values is another one."""

    def __getitem__(self, key: int) -> Any:
        return Endless()

    def __iter__(self) -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    def __len__(self) -> int:
        return 3


class FalseArray:
    """It has the attributes of arrays, but none of them works."""

    shape: Any = None
    dtype: Any = None

    def tobytes(self) -> Any:
        return self

    def tolist(self) -> Any:
        return [self]


class FailingArray:
    @property
    def shape(self) -> Any:
        raise MemoryError

    dtype = shape
    tobytes = shape


class Names(type):
    def __getattr__(cls, name: str) -> Any:
        return cls


class AnswersByMetaclass(metaclass=Names):
    pass


@dataclass
class Computed:
    size: int
    total: int = field(init=False, repr=False)

    @property
    def doubled(self) -> int:
        raise RuntimeError


@dataclass
class Property:
    size: int = 0

    def __post_init__(self) -> None:
        type(self).size = property(Raises.__bool__)  # type: ignore[assignment,arg-type]


@dataclass(repr=False)  # of those that all know one another it would have no end
class Node:
    name: int
    known: list[Any] = field(default_factory=list)


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError


class Number(int):
    def __int__(self) -> int:
        raise RuntimeError

    def bit_length(self) -> int:
        raise RuntimeError


class Listed(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


class Keyed(dict[Any, Any]):
    def items(self) -> Any:
        raise RuntimeError

    __iter__ = items


def all_known(count: int) -> list[Node]:
    nodes = [Node(index) for index in range(count)]
    for node in nodes:
        node.known = list(nodes)
    return nodes


def branching(depth: int) -> list[Any]:
    value: list[Any] = [1]
    for _ in range(depth):
        value = [value, value]
    return value


def array_in_itself() -> Any:
    value = np.empty(2, dtype=object)
    value[:] = value, 1
    return value


def released() -> memoryview:
    view = memoryview(b"abc")
    view.release()
    return view


HOSTILE: dict[str, Any] = {
    "a magic mock": MagicMock(),
    "an async mock": AsyncMock(),
    "a mock": Mock(),
    "a mock of a dict": Mock(spec=dict),
    "a mock of an array": Mock(spec=np.ndarray),
    "a magic mock of a list": MagicMock(spec=list),
    "an array that contains a mock": np.array([MagicMock(), 1], dtype=object),
    "an array within itself": array_in_itself(),
    "an object that raises": Raises(),
    "a list of objects that raise": [Raises(), {1: Raises()}],
    "a lazy proxy": Proxy(),
    "a mapping without an end": Endless(),
    "a false array": FalseArray(),
    "a failing array": FailingArray(),
    "a metaclass that answers to everything": AnswersByMetaclass(),
    "such a class": AnswersByMetaclass,
    "a dataclass without one of its values": Computed(1),
    "a dataclass whose field is a property": Property(),
    "a dataclass type": Node,
    "objects that all know one another": all_known(30),
    "lists shared at every level": branching(95),
    "lists shared at more levels than are read": branching(500),
    "a list shared many times": [[0] * 1000] * 100_000,
    "a text that cannot be printed": Text("x"),
    "a number that is none": Number(7),
    "a list that cannot be read": Listed([1, 2]),
    "a dict that cannot be read": Keyed(a=1),
    "a view that was released": released(),
    "half a character": "\ud800",
    "a module": sys,
    "a generator": (each for each in ()),
    "dates that are NaT": np.array(["NaT"], dtype="datetime64[s]"),
    "rows": np.zeros(2, dtype=[("a", "i4"), ("b", "O")]),
    "one row": np.zeros(2, dtype=[("a", "i4"), ("b", "O")])[0],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hashing_any_value_ends(name):
    call = Call(function=len, args=(HOSTILE[name],), kwargs={"key": HOSTILE[name]})

    assert digest_inputs(call, Digest()) == digest_inputs(call, Digest())
    assert fingerprint(call, Digest(), facts={}) == fingerprint(call, Digest(), facts={})
    assert describe_inputs({"x": HOSTILE[name]}, Digest())["x"]["sha256"]
    assert Digest().of([HOSTILE[name]]) != Digest().of([])


@pytest.mark.parametrize("name", HOSTILE)
def test_any_value_of_a_fact_can_be_formatted(name):
    assert repr(plain_fact(HOSTILE[name], Digest())) == repr(plain_fact(HOSTILE[name], Digest()))


@pytest.mark.parametrize(
    "name",
    [
        "a magic mock",
        "a mock of a dict",
        "a mock of an array",
        "an object that raises",
        "a lazy proxy",
        "a false array",
        "a metaclass that answers to everything",
        "a mapping without an end",
    ],
)
def test_a_value_that_cannot_be_read_is_represented_by_its_type(name):
    value = HOSTILE[name]

    assert Digest().of(value) == Digest().of(type(type(value).__qualname__, (), {})())


def test_a_mock_is_not_asked_for_anything():
    mock = MagicMock()

    Digest().of(mock)

    assert mock.mock_calls == []


def test_a_strided_view_goes_in_by_its_bytes():
    assert Digest().of(memoryview(b"abcdef")[::2]) == Digest().of(b"ace")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Listed([1]), Listed([2])),
        (Keyed(a=1), Keyed(a=2)),
        (Number(1), Number(2)),
        (Text("a"), Text("b")),
        (OrderedDict(a=1), OrderedDict(a=2)),
        (types.MappingProxyType({1: 2}), types.MappingProxyType({1: 3})),
        (deque([1]), deque([2])),
        (deque([1]), [1]),
        (array.array("d", [1]), array.array("d", [2])),
        (array.array("i", [0]), array.array("f", [0])),
        (Node(1, [2]), Node(1, [3])),
        (IntEnum("Way", "A B")(1), IntEnum("Way", "A B")(2)),
        (np.array([1, [2]], dtype=object), np.array([1, [3]], dtype=object)),
        (np.array([1, 2], dtype=object), np.array([[1], [2]], dtype=object)),
    ],
)
def test_containers_of_other_kinds_go_in_by_value(one, other):
    assert Digest().of(one) != Digest().of(other)


def test_a_member_of_an_enumeration_goes_in_by_its_type():
    way = Enum("Way", "A B")

    assert Digest().of(way.A) == Digest().of(way.B)


def test_a_value_within_a_cycle_still_counts():
    assert Digest().of(all_known(4)[0]) != Digest().of(all_known(5)[0])


def test_a_dataclass_with_slots_goes_in_by_its_fields():
    @dataclass(slots=True)
    class Point:
        x: int

    assert Digest().of(Point(1)) == Digest().of(Point(1))
    assert Digest().of(Point(1)) != Digest().of(Point(2))


SHARED = st.recursive(
    st.one_of(st.integers(), st.text(), st.none(), st.binary()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4), st.tuples(inner, inner)
    ),
    max_leaves=30,
)


@settings(deadline=None)
@given(SHARED)
def test_a_value_that_occurs_twice_counts_as_a_copy_of_it_would(value):
    import copy

    assert Digest().of([value, {"again": value}]) == Digest().of([copy.deepcopy(value), {"again": value}])


def test_a_digest_that_is_used_again_finds_the_same():
    digest = Digest()
    value = [[1, 2], {"a": np.arange(3)}, branching(5)]

    assert digest.of(value) == digest.of(value) == Digest().of(value)


def test_a_long_list_of_numbers_is_hashed_as_one_text():
    import hashlib

    numbers = list(range(25_000))
    text = ",".join(map(repr, numbers))

    assert Digest().write(numbers) == b"list of numbers " + hashlib.sha256(text.encode()).digest()


def test_a_fact_that_holds_itself_becomes_its_digest():
    loop: list[Any] = [1]
    loop.append(loop)

    assert plain_fact(loop, Digest()).startswith("list ")


@pytest.mark.parametrize("number", [10**5000, 2**64, -(2**64), float("inf")], ids="abcd")
def test_a_number_that_json_cannot_hold_is_spelled_out(number):
    assert isinstance(plain_fact(number, Digest()), str)


def test_a_number_of_an_array_library_is_a_fact_like_any_other():
    assert plain_fact([np.float32(0.5), np.array(3), np.int64(2)], Digest()) == [0.5, 3, 2]
