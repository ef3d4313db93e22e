"""Format JSON for people and for `git diff`: one key or one flat list per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import msgspec


class NotFiniteError(Exception):
    """Contains the place of a number that JSON cannot represent."""


def foreign(value: object) -> object:
    """Convert a value that JSON cannot represent to text, so that an unusual parameter never loses a run."""
    as_list = getattr(value, "tolist", None)  # arrays and their scalars
    return as_list() if callable(as_list) else repr(value)


@dataclass(frozen=True)
class Parts:
    """An object or list that is laid out item by item."""

    brackets: str
    items: Iterable[tuple[object, str, Any]]
    """Key or position, what comes before the value, and the value."""


def keyed(plain: dict[str, Any]) -> Iterator[tuple[object, str, Any]]:
    """Return the items of an object for `Parts`."""
    return ((key, f"{_flat(str(key), key)}: ", value) for key, value in plain.items())


def stream(value: Parts, pad: str) -> Iterator[str]:
    """Format as `lay_out` does, and return each item that has no parts as one text."""
    inner = pad + " "
    separator = value.brackets[0]
    for key, head, item in value.items:
        yield f"{separator}\n{inner}{head}"
        try:
            if isinstance(item, Parts):
                yield from stream(item, inner)
            else:
                yield lay_out(item, inner)
        except NotFiniteError as bad:
            raise NotFiniteError(f"{key}.{bad}".rstrip(".")) from None
        separator = ","
    yield f"\n{pad}{value.brackets[1]}"


def lay_out(value: Any, pad: str) -> str:  # noqa: ANN401 - any JSON value
    """Format one key or one flat list per line."""
    inner = pad + " "
    if isinstance(value, dict) and value:
        items = [f"{_flat(str(key), key)}: {_named(key, item, inner)}" for key, item in value.items()]
    elif isinstance(value, (list, tuple)) and any(isinstance(item, (dict, list, tuple)) for item in value):
        items = [_named(at, item, inner) for at, item in enumerate(value)]
    else:
        return _flat(value, "")
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(items) + f"\n{pad}{last}"


def _named(key: object, value: Any, pad: str) -> str:  # noqa: ANN401 - any JSON value
    try:
        return lay_out(value, pad)
    except NotFiniteError as bad:
        raise NotFiniteError(f"{key}.{bad}".rstrip(".")) from None


def _flat(value: Any, place: object) -> str:  # noqa: ANN401 - any JSON value
    try:
        text = msgspec.json.encode(value, enc_hook=foreign).decode()
    except UnicodeEncodeError:  # an undecodable file name, represented by lone surrogates
        text = msgspec.json.encode(_printable(value)).decode()
    if "null" in text:  # msgspec also encodes NaN and infinities as null
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, float) and not isfinite(item):
                raise NotFiniteError(place)
    return text


def _printable(value: str | Sequence[Any]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    return [_printable(item) if isinstance(item, str) else item for item in value]
