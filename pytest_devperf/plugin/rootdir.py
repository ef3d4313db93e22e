"""Values of our options that pytest took for paths of tests.

pytest looks for its root folder before plugins have named their options. A value in a word of its own
(`--devperf-compare /elsewhere/run.json`) is then a path like any other, and may move the root folder: all node ids
change, and with them every case's baseline.
"""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from _pytest.config.findpaths import determine_setup

from pytest_devperf.plugin.options import FLAGS, ROWS, Row


def check_rootdir(config: pytest.Config) -> None:
    """See that no value of ours moved pytest's root folder.

    Raises:
        pytest.UsageError: One did; how to write it instead is named.
    """
    paths: list[str] = list(config.option.file_or_dir)
    values = [(row, value) for row, value in _in_words_of_their_own(config) if _is_there(config, value)]
    for row, value in values:
        found, meant = _root(config, [*paths, value]), _root(config, paths)
        if found != meant:
            raise pytest.UsageError(
                f"pytest took the {value} behind {row.flag} for a path of tests, and so {found} for its root folder, "
                f"not {meant}: write {row.flag}={value} in one word"
            )


def _in_words_of_their_own(config: pytest.Config) -> Iterator[tuple[Row, str]]:
    words = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *map(str, config.invocation_params.args)]
    rows = {row.flag: row for row in ROWS if row.kind not in FLAGS}
    for word, following in pairwise(words):
        if word in rows:
            yield rows[word], following


def _is_there(config: pytest.Config, value: str) -> bool:
    return os.path.exists(Path(config.invocation_params.dir) / value.split("::", maxsplit=1)[0])  # noqa: PTH110 - none may raise


def _root(config: pytest.Config, paths: Sequence[str]) -> Path:
    """Ask pytest where its root folder would be."""
    given = {
        "inifile": config.option.inifilename,
        "override_ini": None,
        "args": paths,
        "rootdir_cmd_arg": config.option.rootdir or None,
        "invocation_dir": config.invocation_params.dir,
    }
    known = inspect.signature(determine_setup).parameters  # `override_ini` came with pytest 8.3
    root: Path = determine_setup(**{name: value for name, value in given.items() if name in known})[0]
    return root
