"""The methods of a model file: what each takes and gives, and the inputs that are made for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_devperf.case.fingerprint import describe_inputs
from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.content import map_model
from pytest_devperf.model_file.inputs import Feed, format_slot, make_feed, named_sizes
from pytest_devperf.model_file.onnx import Slot

MAIN = "forward"
"""What a workload calls the method of a model that has but one, whatever the file calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One entry of a model."""

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    place: int = 0
    """Index of the subgraph or execution plan it runs."""
    input_places: tuple[int, ...] = ()
    """Index of each input among the file's tensors or values, where the runtime asks for it."""
    output_places: tuple[int, ...] = ()
    """Likewise of each output."""
    backends: tuple[str, ...] = ()
    """What it was lowered to when it was exported, by the runtime's names."""
    reason: str | None = None
    """Why it cannot be executed by itself, whatever it is fed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """A model's methods with what each is fed."""

    methods: tuple[Method, ...]
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    """By the method's name."""

    @property
    def ready(self) -> tuple[str, ...]:
        """Names of the methods that can be executed."""
        return tuple(method.name for method in self.methods if self.feeds[method.name].is_ready)

    @property
    def skipped(self) -> dict[str, str]:
        """Names of those that cannot, with the reason."""
        return {name: feed.reason for name, feed in self.feeds.items() if feed.reason is not None}

    @property
    def wanting(self) -> dict[str, str]:
        """Names of those that wait for something, with what a test has to pass."""
        return {name: feed.wants for name, feed in self.feeds.items() if feed.wants is not None}

    def described(self) -> dict[str, dict[str, object]]:
        """Describe all inputs; where there are several methods their names stand before them."""
        several = len(self.methods) > 1
        return {
            f"{method}.{name}" if several else name: facts
            for method in self.ready
            for name, facts in describe_inputs(self.feeds[method].arrays).items()
        }

    def find(self, model: Model) -> Method:
        """Find the method a workload names; `forward` also means the first that can be executed.

        Raises:
            CaseError: There is no such method.
        """
        names = [method.name for method in self.methods]
        name = model.method
        if name not in names and name == MAIN:
            name = (*self.ready, *names)[0]
        if name not in names:
            raise CaseError(f"{Path(model.path).name} has no method {name!r}", f"it has {', '.join(names)}")
        return self.methods[names.index(name)]

    def chosen(self, model: Model) -> tuple[Method, Feed]:
        """Find the method a workload names, and what it is fed.

        Raises:
            CaseError: There is no such method, or the test has to pass something first.
            Unsupported: It cannot be fed.
        """
        method = self.find(model)
        feed = self.feeds[method.name]
        feed.require(model.path)
        return method, feed


def read_methods(path: str, parse: Callable[[memoryview], tuple[Method, ...]], *, kind: str) -> tuple[Method, ...]:
    """Read a file's methods.

    Args:
        path: The file.
        parse: Reads its bytes; a `ValueError` says why it cannot.
        kind: What the file should be (`LiteRT model`).

    Raises:
        CaseError: There is no such file, it is of another kind, or it has no method.
    """
    data = map_model(path)
    try:
        methods = parse(data)
    except ValueError as error:
        raise CaseError(f"{path} is no {kind}: {error}", "export it again") from error
    if not methods:
        raise CaseError(f"{path} has no method that could be run", "export it again")
    if len({method.name for method in methods}) < len(methods):
        raise CaseError(f"two methods of {path} have one name", "export it again")
    return methods


def feed_methods(methods: tuple[Method, ...], model: Model) -> Fed:
    """Make the inputs of every method; what is given must be an input or dimension of one of them at least.

    Raises:
        CaseError: It is none's, or a given array has another type, rank or size.
    """
    given: Mapping[str, Any] = model.inputs or {}
    slots = [slot for method in methods for slot in method.inputs]
    expected = "; ".join(f"{method.name} takes {', '.join(map(format_slot, method.inputs))}" for method in methods)
    _refuse_unknown("input", given, {slot.name for slot in slots}, expected)
    symbols = {size for slot in slots for size in named_sizes(slot) if isinstance(size, str)}
    _refuse_unknown("dimension", model.dims, symbols, expected)
    return Fed(methods=methods, feeds={method.name: _feed(method, model) for method in methods})


def _feed(method: Method, model: Model) -> Feed:
    if method.reason is not None:
        return Feed(reason=method.reason)
    names = {slot.name for slot in method.inputs}
    symbols = {size for slot in method.inputs for size in named_sizes(slot) if isinstance(size, str)}
    dims = {name: size for name, size in model.dims.items() if name in symbols}
    return make_feed(
        method.inputs, dims, {name: value for name, value in (model.inputs or {}).items() if name in names}
    )


def _refuse_unknown(word: str, named: Mapping[str, Any], known: set[str], expected: str) -> None:
    for name in named:
        if name not in known:
            raise CaseError(f"the model has no {word} {name!r}", expected)
