"""Detect coverage tools, debuggers and profilers that trace the measuring thread and falsify its times."""

from __future__ import annotations

import sys
from collections.abc import Iterator

MONITORING_TOOLS = 6
"""Tool ids of `sys.monitoring` (3.12 and later): 0 debugger, 1 coverage, 2 profiler, 5 optimizer."""

KNOWN = {
    "coverage": "coverage",
    "pytest_cov": "coverage",
    "bdb": "a debugger (bdb)",
    "pdb": "a debugger (pdb)",
    "_pydevd_bundle": "a debugger (pydevd)",
    "pydevd": "a debugger (pydevd)",
    "debugpy": "a debugger (debugpy)",
    "cProfile": "a profiler (cProfile)",
    "_lsprof": "a profiler (cProfile)",
    "profile": "a profiler (profile)",
    "yappi": "a profiler (yappi)",
    "_yappi": "a profiler (yappi)",
    "pyinstrument": "a profiler (pyinstrument)",
    "line_profiler": "a profiler (line_profiler)",
    "_memray": "a profiler (memray)",
}
"""Tools by the module of their trace function."""


def read_instrument() -> str | None:
    """Name the tools that trace the calling thread; return None if there are none.

    Returns:
        Names joined by `and`: `coverage`, `a debugger (pydevd)`, `a profiler (cProfile)`. For an unknown tool, the
        module and name of the trace function.
    """
    return " and ".join(dict.fromkeys(_instruments())) or None


def _instruments() -> Iterator[str]:
    for function in (sys.gettrace(), sys.getprofile()):
        if function is not None:
            yield _name(function)
    # Available since 3.12.
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        for tool in range(MONITORING_TOOLS):
            name = monitoring.get_tool(tool)
            if name is not None:
                yield KNOWN.get(str(name).removesuffix(".py"), str(name))


def _name(function: object) -> str:
    """Name a trace function by its module: that of a function, of a method's owner, or of an extension object's type.

    The bases of the type count as well: a profiler's own module has another name if it is run as a program.
    """
    owner = getattr(function, "__self__", None)
    kind = type(function if owner is None else owner)
    module = str(getattr(function, "__module__", None) or kind.__module__)
    for candidate in (module, *(each.__module__ for each in kind.__mro__)):
        known = KNOWN.get(candidate.partition(".")[0])
        if known is not None:
            return known
    return f"{module}.{getattr(function, '__qualname__', kind.__qualname__)}"
