"""Build workloads from the arguments of the fixture."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from pytest_devperf.case.function import name_of, refuse_uncallable, what_it_gives
from pytest_devperf.case.workload import WHOLE_TIME, App, Call, Command, Model, Workload
from pytest_devperf.errors import CaseError
from pytest_devperf.metric import is_recorded_value
from pytest_devperf.untrusted import shown

PathLike = Union[str, "os.PathLike[str]"]

Paired = Union[Sequence[PathLike], PathLike]
"""One side of `devperf.paired`: a program with its arguments, or a model's path."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """Makes the workloads of one test, and refuses invalid arguments."""

    case_id: str
    folder: str
    """Folder of the test file."""
    providers: tuple[str, ...] | None = None
    """Execution providers for models that name none."""

    def call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        setup: Callable[[], object] | None = None,
        sync: Callable[[Any], object] | None = None,
    ) -> Call:
        """Make a call of a function or a coroutine function."""
        self.require_callable(function, "devperf")
        for word, given in (("setup=", setup), ("sync=", sync)):
            if given is not None:
                self.require_callable(given, word)
        gives = what_it_gives(function)
        if gives in {"generator", "async generator"}:
            raise CaseError(
                f"{self.case_id}: {name_of(function)} returns a generator, and to create one takes no time",
                "measure it with devperf.stream(function, ...)",
            )
        return Call(
            function=function,
            args=args,
            kwargs=kwargs,
            setup=setup,
            sync=sync,
            shape="coroutine" if gives == "coroutine" else "plain",
        )

    def stream(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
        """Make a call of a generator function."""
        self.require_callable(function, "devperf.stream")
        return Call(function=function, args=args, kwargs=kwargs, shape="stream")

    def require_factory(self, factory: Callable[..., Any]) -> None:
        """Refuse a factory that is not a plain function."""
        self.require_callable(factory, "devperf.load")
        if what_it_gives(factory) != "result":
            raise CaseError(
                f"{self.case_id}: devperf.load calls a plain function, and {name_of(factory)} is none, "
                "so that only the creation of a coroutine or generator would be timed",
                "load the object in a plain function",
            )

    def require_callable(self, given: object, word: str) -> None:
        """Refuse an object that cannot be called."""
        refuse_uncallable(given, word=f"{self.case_id}: {word}")

    def model(
        self,
        path: PathLike,
        *,
        dims: Mapping[str, int] | None = None,
        inputs: Mapping[str, Any] | None = None,
        providers: Sequence[str] | None = None,
        provider_options: Sequence[Mapping[str, str]] | None = None,
        session_options: Mapping[str, Any] | None = None,
    ) -> Model:
        """Make a model from its file."""
        file = os.path.join(self.folder, os.fspath(path))  # noqa: PTH118 - a model's path may be a str
        if not os.path.isfile(file):  # noqa: PTH113 - as above
            raise CaseError(f"{self.case_id}: no model at {file}", "pass a path relative to the test file")
        return Model(
            path=file,
            dims=dict(dims or {}),
            inputs=None if inputs is None else dict(inputs),
            providers=self.providers if providers is None else tuple(providers),
            provider_options=None if provider_options is None else tuple(provider_options),
            session_options=dict(session_options or {}),
        )

    def command(
        self,
        argv: Sequence[PathLike],
        *,
        push: Sequence[PathLike] = (),
        read: str | Callable[[str], Any] | None = None,
        cwd: PathLike | None = None,
        environment: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> Command:
        """Make a command from its argument list."""
        if isinstance(argv, str) or not argv:
            raise CaseError(f"{self.case_id}: devperf.command takes a list of arguments", "split the command line")
        words = tuple(os.fspath(word) for word in argv)
        if read is None:
            read = "lines" if any("{iterations}" in word for word in words[1:]) else WHOLE_TIME
        return Command(
            argv=words,
            push=tuple(os.path.join(self.folder, os.fspath(file)) for file in push),  # noqa: PTH118 - as in model
            read=read,
            folder=self.folder,
            cwd=None if cwd is None else os.fspath(cwd),
            environment=dict(environment or {}),
            units=dict(units or {}),
        )

    def app(
        self,
        app_id: str,
        *,
        build: Sequence[str] | None,
        launch: Sequence[str] | None,
        environment: Mapping[str, str] | None,
        cases: Sequence[str] | None,
        **fields: Any,
    ) -> App:
        """Make an app that hosts its own cases."""
        return App(
            id=app_id,
            build=None if build is None else tuple(build),
            launch=None if launch is None else tuple(launch),
            environment=dict(environment or {}),
            cases=None if cases is None else tuple(cases),
            cwd=self.folder,
            **fields,
        )

    def require_name(self, name: str) -> str:
        """Refuse an invalid metric name."""
        if not isinstance(name, str) or not name or any(not (c.isalnum() or c in "._-") for c in name):
            raise CaseError(
                f"{self.case_id}: {name!r} is not a valid metric name",
                "use letters, digits, dots, dashes and underscores",
            )
        return name

    def require_value(self, name: str, value: object, better: str) -> float:
        """Refuse a value that cannot be recorded."""
        number = _as_float(value)
        if number is None or not is_recorded_value(number):
            raise CaseError(f"{self.case_id}: devperf.record({name!r}, {shown(value)}) is not a finite number")
        if better not in {"lower", "higher"}:
            raise CaseError(f"{self.case_id}: better={better!r}", "pass 'lower' or 'higher'")
        return number

    def paired(self, old: Paired, new: Paired, how: Mapping[str, Any]) -> tuple[Workload, Workload]:
        """Make both sides of a pair: two commands, or two models."""
        kinds = {isinstance(side, (list, tuple)) for side in (old, new)}
        if len(kinds) > 1:
            raise CaseError(
                f"{self.case_id}: devperf.paired was given a program and a model",
                "pass two argument lists, or two model paths",
            )
        make: Callable[..., Workload] = self.command if kinds.pop() else self.model
        before, after = make(old, **how), make(new, **how)
        if isinstance(before, Command) and isinstance(after, Command) and before.is_timed != after.is_timed:
            raise CaseError(
                f"{self.case_id}: one program of devperf.paired takes {{iterations}}, "
                "and the other is timed as a whole",
                'name what both print with read=, or time both with read="time"',
            )
        return before, after


def _as_float(value: object) -> float | None:
    """Convert a number, numpy's included; None for anything else, and for one that is too large for a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
