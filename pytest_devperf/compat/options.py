"""The options and marker keywords of pytest-benchmark, and what each means here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from pytest_devperf.english import counted

FIXTURE = "benchmark"
"""Name of the fixture, and of the marker."""

HOOK_PREFIX = "pytest_benchmark_"
"""Beginning of the name of each of pytest-benchmark's hooks."""

PAGE = "docs/from-pytest-benchmark.md"


class Option(NamedTuple):
    """One option of pytest-benchmark."""

    flag: str
    means: str
    """What it means here, or what to use instead."""
    settings: Mapping[str, Any] = {"default": None}
    """How argparse reads it."""
    heeded: bool = False
    """Whether it has an effect."""

    @property
    def key(self) -> str:
        """Attribute of pytest's parsed options."""
        return self.flag.removeprefix("--").replace("-", "_")


_SWITCH: Mapping[str, Any] = {"action": "store_true", "default": False}
_MAYBE: Mapping[str, Any] = {"nargs": "?", "default": None, "const": ""}
_MANY: Mapping[str, Any] = {"nargs": "?", "default": None, "const": "", "action": "append"}

OPTIONS: Sequence[Option] = (
    Option("--benchmark-only", "as there: skips tests that do not use the fixture", _SWITCH, heeded=True),
    Option("--benchmark-skip", "as there: skips tests that use the fixture", _SWITCH, heeded=True),
    Option("--benchmark-disable", "the default: without `--devperf`, cases run once; `--devperf` measures", _SWITCH),
    Option("--benchmark-enable", "`--devperf`", _SWITCH),
    Option("--benchmark-min-time", "none: inner loops are chosen by the step of the clock"),
    Option("--benchmark-max-time", "`--devperf-max-time`, the budget of a whole case"),
    Option("--benchmark-min-rounds", "`--devperf-rounds` and `--devperf-iterations`"),
    Option("--benchmark-precision", "`--devperf-stability-target`"),
    Option("--benchmark-confidence", "none: `--devperf-rule` names the rule of a verdict"),
    Option("--benchmark-timer", "none for calls; the hook `pytest_devperf_clock` answers a clock"),
    Option("--benchmark-calibration-precision", "none: an iteration is at least 1,000 steps of the clock"),
    Option("--benchmark-warmup", "`--devperf-warmup`", _MAYBE),
    Option("--benchmark-warmup-iterations", "`--devperf-warmup`"),
    Option("--benchmark-disable-gc", "the default: the collector never runs while calls are timed", _SWITCH),
    Option("--benchmark-save", "`--devperf-save=LABEL`"),
    Option("--benchmark-autosave", "`--devperf-save=LABEL`", _SWITCH),
    Option("--benchmark-save-data", "the default: a saved run has all its samples", _SWITCH),
    Option("--benchmark-json", "`--devperf-json=FILE`, or `devperf export --format json`"),
    Option("--benchmark-compare", "`--devperf-compare=LABEL`", _MAYBE),
    Option("--benchmark-compare-fail", "`--devperf-tolerance`; a regression fails its own test", {"nargs": "+"}),
    Option("--benchmark-storage", "`--devperf-store`"),
    Option("--benchmark-netrc", "none: there is no Elasticsearch store", _MAYBE),
    Option("--benchmark-verbose", "pytest's `-v`", _SWITCH),
    Option("--benchmark-quiet", "pytest's `-q`", _SWITCH),
    Option("--benchmark-sort", "none: cases are shown by their verdict"),
    Option("--benchmark-group-by", "none in the terminal; `group` is kept in the run document"),
    Option("--benchmark-columns", "none: `devperf show -v` has all numbers"),
    Option("--benchmark-name", "none"),
    Option("--benchmark-time-unit", "none: units follow the values"),
    Option("--benchmark-histogram", "`devperf report -o FILE.html`", _MANY),
    Option("--benchmark-cprofile", "none: run the test under a profiler without `--devperf`"),
    Option("--benchmark-cprofile-loops", "none"),
    Option("--benchmark-cprofile-top", "none"),
    Option("--benchmark-cprofile-dump", "none", _MANY),
)
"""Every option of pytest-benchmark's plugin."""

MARKER_KEYWORDS: Mapping[str, str] = {
    "group": "kept in the run document as `group`",
    "max_time": "`@pytest.mark.devperf(max_time=...)`, the budget of a whole case",
    "min_rounds": "`@pytest.mark.devperf(rounds=..., iterations=...)`",
    "min_time": "none: inner loops are chosen by the step of the clock",
    "precision": "`@pytest.mark.devperf(stability_target=...)`",
    "confidence": "none",
    "timer": "none for calls; the hook `pytest_devperf_clock` answers a clock",
    "disable_gc": "the default: the collector never runs while calls are timed",
    "warmup": "`@pytest.mark.devperf(warmup=...)`",
    "warmup_iterations": "`@pytest.mark.devperf(warmup=...)`",
    "calibration_precision": "none",
    "cprofile": "none",
}
"""Every keyword of the `benchmark` marker, and what it means here."""

HEEDED_KEYWORDS = frozenset({"group"})


def add_options(parser: pytest.Parser) -> None:
    """Accept pytest-benchmark's options, so that `addopts` of a suite need not change."""
    group = parser.getgroup("pytest-benchmark", "pytest-benchmark (by pytest_devperf.compat)")
    for option in OPTIONS:
        group.addoption(option.flag, help=option.means.replace("%", "%%"), **option.settings)


def check_marker(marker: pytest.Mark) -> None:
    """Refuse what pytest-benchmark refuses in its marker.

    Raises:
        ValueError: It has a positional argument, or a keyword that pytest-benchmark does not know.
    """
    if marker.args:
        raise ValueError("benchmark mark can't have positional arguments.")
    for name in marker.kwargs:
        if name not in MARKER_KEYWORDS:
            raise ValueError(f"benchmark mark can't have {name!r} keyword argument.")


def idle_words(config: pytest.Config, markers: Iterable[pytest.Mark]) -> str | None:
    """Name the options, marker keywords and hooks of pytest-benchmark that have no effect; None if there are none."""
    given = {str(word).partition("=")[0] for word in (*config.getini("addopts"), *config.invocation_params.args)}
    idle = [option.flag for option in OPTIONS if option.flag in given and not option.heeded]
    used: dict[str, int] = {}
    for marker in markers:
        for name in marker.kwargs.keys() - HEEDED_KEYWORDS:
            used[name] = used.get(name, 0) + 1
    idle += [f"{name} of {counted(used[name], 'marker')}" for name in MARKER_KEYWORDS if name in used]
    idle += sorted(_implemented(config.pluginmanager))
    if not idle:
        return None
    return f"devperf: without effect, since they are pytest-benchmark's: {', '.join(idle)} (see {PAGE})"


def _implemented(manager: pytest.PytestPluginManager) -> set[str]:
    """Name the hooks of pytest-benchmark that a conftest or plugin implements."""
    hooks = (name for name in vars(manager.hook) if name.startswith(HOOK_PREFIX))
    return {name for name in hooks if getattr(manager.hook, name).get_hookimpls()}
