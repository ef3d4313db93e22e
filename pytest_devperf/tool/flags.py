"""Parse the options of a tool from its help text."""

from __future__ import annotations

import re

FLAG = re.compile(r"^(?:[A-Z]+: )?[ \t]*--?([a-z]\w+)(?=[=\s(]|$)", re.MULTILINE)
"""A line of a help text that begins with an option.

Source:
    gflags prints `    -num_executions (Number of times …)`, LiteRT's tools `\\t--num_runs=50 \\tint32\\toptional`.
"""


def parse_flags(text: str) -> frozenset[str]:
    r"""Parse the names of the options from a help text; empty if it contains none.

    >>> sorted(parse_flags("Flags:\n\t--graph=\tstring\n    -model_path (Model) type: string"))
    ['graph', 'model_path']
    """
    return frozenset(FLAG.findall(text))
