"""Text that somebody else wrote, for GitHub's Markdown: it is shown as it is, and can do nothing."""

from __future__ import annotations

import re

from pytest_devperf.untrusted import printable

_SPELLINGS = {
    **{char: f"\\{char}" for char in "\\`*_[]~"},  # CommonMark, and GitHub's struck text
    **{char: f"&#{ord(char)};" for char in "<>&|"},  # HTML, and a table's divider, which no backslash hides everywhere
    "$": "<span>$</span>",  # GitHub's own advice: it looks for formulas before it reads escapes
}
"""What is written for characters that can begin markup in the middle of a line."""

_WORD_JOINER = "\u2060"
"""A character without width. GitHub looks for mentions, references and addresses in the text that is left after
Markdown, so that no escape prevents them; a character in between does."""

_LINKED = re.compile(r"@(?=\w)|#(?=\d)|\bGH(?=-\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
"""Beginning of a reference: `@name`, `GH-1`, `#1`, `https://`, `www.`."""

_UNSAFE_IN_CODE = frozenset("`|\\")
"""Characters that a code span cannot hold everywhere: its own fence, a table's divider, and the divider's escape."""


def prose(text: str) -> str:
    r"""Write a text for the middle of a line of Markdown.

    >>> print(prose("a*b|c"), prose("<b>"))
    a\*b&#124;c &#60;b&#62;
    """
    marked = _LINKED.sub(lambda found: found[0] + _WORD_JOINER, printable(text))
    return "".join(_SPELLINGS.get(char, char) for char in marked)


def code(text: str) -> str:
    """Write a text as code, for any place on a line, a table's cell included.

    GitHub links no mention in code.

    >>> code("test_a.py::test_b[1]"), code("a|b`")
    ('`test_a.py::test_b[1]`', '<code>a&#124;b&#96;</code>')
    """
    shown = printable(text)
    if shown.strip() == shown and shown and not _UNSAFE_IN_CODE.intersection(shown):
        return f"`{shown}`"
    # Entities begin no markup, and a character of each word is enough to hide an address.
    return f"<code>{''.join(char if char.isalnum() or char == ' ' else f'&#{ord(char)};' for char in shown)}</code>"
