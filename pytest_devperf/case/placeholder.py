"""Replace paths of this machine in texts by placeholders."""

from __future__ import annotations

from collections.abc import Mapping

Prefixes = Mapping[str, str]
"""Path prefix -> placeholder (`/home/me/project` -> `<rootdir>`). Prefixes differ between machines, not workloads."""


def replace_prefix(text: str, prefix: str, placeholder: str) -> str:
    """Replace a prefix of a path by a placeholder, also in the middle of an option.

    >>> replace_prefix("--graph=/tmp/x/m.tflite", "/tmp/x", "<tmp>")
    '--graph=<tmp>/m.tflite'
    >>> replace_prefix("/tmp/xylophone", "/tmp/x", "<tmp>")
    '/tmp/xylophone'
    """
    prefix = prefix.rstrip("/\\")
    at = text.find(prefix) if prefix else -1
    while at >= 0:
        end = at + len(prefix)
        begins = at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "/\\._-")
        ends = end == len(text) or not (text[end].isalnum() or text[end] in "._-")
        if begins and ends:
            text = text[:at] + placeholder + text[end:]
            end = at + len(placeholder)
        at = text.find(prefix, end)
    return text


class Placeholders:
    """The prefixes of a session, longest first: a working directory within rootdir is more exact."""

    def __init__(self, prefixes: Prefixes) -> None:
        given = {prefix.rstrip("/\\"): placeholder for prefix, placeholder in prefixes.items()}
        self._prefixes = sorted(
            ((prefix, placeholder) for prefix, placeholder in given.items() if prefix),
            key=lambda item: (-len(item[0]), item),
        )

    def may_go_into(self, text: str) -> bool:
        """Return whether a text contains any prefix."""
        return any(prefix in text for prefix, _ in self._prefixes)

    def put_into(self, text: str) -> str:
        """Replace the paths of this machine in a text by placeholders."""
        for prefix, placeholder in self._prefixes:
            if prefix in text:
                text = replace_prefix(text, prefix, placeholder)
        return text
