"""Determine what identifies a session, and what differs between two of them."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.session.log.entries import SessionFacts
from pytest_devperf.session.options.scope import INSTALLED
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.options.table import OUTPUTS
from pytest_devperf.store.commit import read_commit
from pytest_devperf.store.remote.requests import without_secrets

FREE_OPTIONS = frozenset({"no_github", "explain", "resume", "plan_cli", "plan_ini", *(row.name for row in OUTPUTS)})
"""Settings that change nothing that is measured, and those that are compared field by field."""


def facts_of(
    settings: Settings, plan: Plan, cases: Iterable[Case], *, baseline: Iterable[str], old: str | None, root: Path
) -> SessionFacts:
    """Determine what identifies a session.

    Args:
        settings: Its settings.
        plan: The plan of a case without marker keywords.
        cases: Its cases.
        baseline: Ids of the runs that it compares with.
        old: Describes the old code that it compares with.
        root: The root folder of the tests.
    """
    options = {name: value for name, value in asdict(settings).items() if name not in FREE_OPTIONS}
    if settings.store is not None:
        options["store"] = without_secrets(settings.store)
    commit = read_commit(root)
    return SessionFacts(
        software={
            "Python": platform.python_version(),
            "the interpreter": sys.executable,
            **({"the old code": old} if old is not None else {}),
        },
        options={name: _spelled(value) for name, value in (options | asdict(plan)).items()},
        cases={case.id: _spelled(asdict(case)) for case in cases},
        baseline=list(baseline),
        commit=commit.id if commit is not None else None,
        files=hash_files(root),
    )


def _spelled(value: object) -> str:
    """Spell a value of a setting, equal values alike.

    >>> _spelled({"b": 1, "a": (2, 3)}), _spelled(frozenset("ba")), _spelled(()), _spelled(None)
    ('a=2 3, b=1', 'a b', 'nothing', 'nothing')
    """
    if value is None or (isinstance(value, (Mapping, set, frozenset, tuple)) and not value):
        return "nothing"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_spelled(value[key])}" for key in sorted(value))
    if isinstance(value, (set, frozenset)):
        return " ".join(sorted(map(str, value)))
    return " ".join(map(_spelled, value)) if isinstance(value, tuple) else str(value)


def hash_files(root: Path) -> dict[str, str]:
    """Hash the code that this process imported from the project: tests, conftests, and the code under test."""
    return {
        name: digest for path in _imported_below(root) if (digest := hash_file(path)) for name in [_named(path, root)]
    }


def _named(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def hash_file(path: Path) -> str | None:
    """Hash a file; None if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None


def _imported_below(root: Path) -> Iterator[Path]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (path := Path(file)).is_relative_to(root) and INSTALLED.isdisjoint(path.parts):
            yield path


def difference(before: SessionFacts, now: SessionFacts) -> str | None:
    """Describe the first difference that prevents resuming a session; None if there is none."""
    kinds = (
        *(f"{name} was {old} and is {new}" for name, old, new in _changed(before.software, now.software)),
        *(f"{_flag(name)} was {old} and is {new}" for name, old, new in _changed(before.options, now.options)),
        _of_cases(before.cases, now.cases),
        "the baseline was saved again" if before.baseline != now.baseline else None,
        f"the commit was {before.commit} and is {now.commit}" if before.commit != now.commit else None,
        *(f"{path} was changed" for path, old, new in _changed(before.files, now.files) if old and new),
    )
    return next((words for words in kinds if words is not None), None)


def _of_cases(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    for words, names in (("is gone", before.keys() - now.keys()), ("is new", now.keys() - before.keys())):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            return f"the case {min(names)}{more} {words}"
    return next((f"the plan or marker of {name} was changed" for name, _, _ in _changed(before, now)), None)


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str | None, str | None]]:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield name, before.get(name), now.get(name)


def _flag(name: str) -> str:
    return f"--devperf-{name.replace('_', '-')}"


def changed_file(facts: SessionFacts, root: Path) -> str | None:
    """Name a file of a session's code that was changed or deleted since; None if there is none."""
    return next((name for name, digest in facts.files.items() if hash_file(root / name) != digest), None)
