"""`pytest_devperf.__all__` is what plugins may use, and all that they need."""

from __future__ import annotations

import ast
import inspect
import typing
from pathlib import Path

import pytest

import pytest_devperf
from pytest_devperf.plugin import hookspec

PACKAGE = Path(pytest_devperf.__file__)


def _imported_for_type_checkers() -> set[str]:
    (guarded,) = (
        each
        for each in ast.parse(PACKAGE.read_text(encoding="utf-8")).body
        if isinstance(each, ast.If) and isinstance(each.test, ast.Name)
    )
    return {alias.name for each in guarded.body if isinstance(each, ast.ImportFrom) for alias in each.names}


def test_type_checkers_and_interpreters_see_the_same_names() -> None:
    found = {name for names in pytest_devperf._HOMES.values() for name in names}
    assert found == _imported_for_type_checkers() == set(pytest_devperf.__all__) - {"__version__"}


@pytest.mark.parametrize("name", pytest_devperf.__all__)
def test_every_public_name_is_there_and_described(name: str) -> None:
    value = getattr(pytest_devperf, name)
    assert name in dir(pytest_devperf)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__


def test_a_module_that_was_forgotten_is_not_answered_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    before = pytest_devperf.Change
    monkeypatch.delitem(sys.modules, "pytest_devperf.record.record")
    monkeypatch.setattr(sys.modules["pytest_devperf.record"], "record", None)  # what the import sets again
    assert pytest_devperf.Change is not before


def test_another_name_is_refused_as_everywhere() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_devperf' has no attribute 'Nonsense'"):
        pytest_devperf.Nonsense  # noqa: B018 - the attribute is asked for


def _names_in(annotation: str) -> set[str]:
    return {each.id for each in ast.walk(ast.parse(annotation, mode="eval")) if isinstance(each, ast.Name)}


def _hooks() -> dict[str, typing.Any]:
    return {name: each for name, each in vars(hookspec).items() if name.startswith("pytest_devperf_")}


def test_every_type_of_a_hook_is_public() -> None:
    named = {
        name
        for hook in _hooks().values()
        for annotation in hook.__annotations__.values()
        for name in _names_in(annotation)
    }
    outside = {"Any", "None", "Callable", "Mapping", "str", "float", "pytest"}
    assert named - outside - set(pytest_devperf.__all__) == set()


def test_every_hook_is_in_the_howto() -> None:
    howto = (PACKAGE.parents[1] / "docs" / "howto-plugins.md").read_text(encoding="utf-8")
    assert [name for name in _hooks() if name not in howto] == []
