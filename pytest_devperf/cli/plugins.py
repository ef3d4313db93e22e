"""What installed plugins answer: the command runs without pytest, so it finds them by their entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pytest_devperf.errors import DevperfError, UsageError

if TYPE_CHECKING:
    from pytest_devperf.store.store import Store
    from pytest_devperf.targets.protocol import Target


def ask_for_target(spec: str) -> Target | None:
    """Ask the functions spec -> target of the entry points `pytest_devperf.targets`.

    Raises:
        DevperfError: A plugin refuses the spec, or fails.
    """
    target: Target | None = _first_answer("pytest_devperf.targets", spec)
    return target


def ask_for_store(spec: str) -> Store | None:
    """Ask the functions spec -> store of the entry points `pytest_devperf.stores`.

    Raises:
        DevperfError: A plugin refuses the spec, or fails.
    """
    store: Store | None = _first_answer("pytest_devperf.stores", spec)
    return store


def _first_answer(group: str, spec: str) -> Any:  # noqa: ANN401 - whatever the group answers
    for entry in entry_points(group=group):
        try:
            answer = entry.load()(spec)
        except DevperfError:
            raise
        except Exception as error:
            raise UsageError(
                f"{entry.value}, an entry point of {group}, failed on {spec!r} ({type(error).__name__}: {error})",
                "mend or uninstall that plugin",
            ) from error
        if answer is not None:
            return answer
    return None
