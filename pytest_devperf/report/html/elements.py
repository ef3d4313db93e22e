"""HTML elements whose text is escaped by construction."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pytest_devperf.untrusted import printable

_EMPTY = frozenset({"br", "circle", "input", "line", "link", "meta", "rect", "path"})
"""Elements without content: HTML's own, and the shapes of a drawing."""


class Html(str):
    """Text that is HTML already; every other text is escaped when it is put into an element."""

    __slots__ = ()


Content = str | Iterable["Content"] | None
"""What an element holds: a text, an element, several of them, or nothing."""


def html(content: Content) -> Html:
    r"""Write content as HTML: texts escaped, their control characters spelt out.

    >>> html("a < b\x1b"), html([el("b", "x"), None, " & y"])
    ('a &lt; b\\x1b', '<b>x</b> &amp; y')
    """
    if content is None:
        return Html()
    if isinstance(content, Html):
        return content
    if isinstance(content, str):
        return Html(escape(printable(content)))
    return Html("".join(map(html, content)))


def el(tag: str, *content: Content, **attributes: str | float | bool | None) -> Html:
    """Write an element.

    >>> el("a", "to <b>", href="#x", class_="link", hidden=False)
    '<a href="#x" class="link">to &lt;b&gt;</a>'

    Args:
        tag: Its name.
        content: What it holds.
        attributes: By name; `_` stands for `-`, and one at the end sets a word of Python's apart. True has no value,
            False and None leave the attribute out.
    """
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _EMPTY:
        return Html(f"<{tag}{written}>" if tag in {"br", "input", "link", "meta"} else f"<{tag}{written}/>")
    return Html(f"<{tag}{written}>{html(content)}</{tag}>")
