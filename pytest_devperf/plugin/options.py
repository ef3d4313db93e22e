"""Read the options of the command line and the ini file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.plugin.marks import is_case
from pytest_devperf.session.options.parse import parse_bool
from pytest_devperf.session.options.row import ADVANCED, EVERYDAY, FLAGS, Row
from pytest_devperf.session.options.table import AIMS, COMPAT, INI_ONLY, PLAN_ROWS, ROWS

if TYPE_CHECKING:
    from pytest_devperf.session.options.settings import Settings


WITHOUT_VALUE = "true"
"""What an option means whose value may be left out, and is."""


def add_options(parser: pytest.Parser) -> None:
    """Register every row on the command line and in the ini file."""
    groups = {True: parser.getgroup(EVERYDAY, "devperf"), False: parser.getgroup(ADVANCED, "devperf (advanced)")}
    for row in ROWS:
        group = groups[row.everyday]
        add = group.addoption
        if row.kind == "flag":
            add(row.flag, dest=row.key, action="store_true", default=None, help=row.help)
        elif row.kind == "tristate":
            add(row.flag, dest=row.key, action="store_true", default=None, help=row.help)
            off = row.flag.replace("--devperf-", "--devperf-no-", 1)
            add(off, dest=row.key, action="store_false", default=None, help="the opposite")
        elif row.kind == "many":
            add(row.flag, dest=row.key, action="append", default=None, metavar=row.metavar, help=_escaped(row))
        elif row.kind == "optional":
            add(
                row.flag,
                dest=row.key,
                nargs="?",
                const=WITHOUT_VALUE,
                default=None,
                metavar=row.metavar,
                help=_escaped(row),
            )
        else:
            add(row.flag, dest=row.key, default=None, metavar=row.metavar, help=_escaped(row))
        parser.addini(row.key, row.help, default=None)
    for row in (*INI_ONLY, COMPAT):
        parser.addini(row.key, row.help, default=None)


def _escaped(row: Row) -> str:
    """Return the help text for argparse, with percent signs doubled."""
    return row.help.replace("%", "%%")


def wants_measuring(config: pytest.Config, option: argparse.Namespace | None = None) -> bool:
    """Return whether cases are measured: under `--devperf`, or an option of the command line that implies it.

    It must be fast: it runs in every session in which the plugin is installed.

    Args:
        config: pytest's configuration.
        option: The command line as far as it is known; None: it was read completely.
    """
    option = option or config.option
    if option.devperf or any(getattr(option, row.key) is not None for row in AIMS):
        return True
    return read_ini(config, ROWS[0]) is True


def check_values(config: pytest.Config) -> None:
    """Refuse an invalid value, in a session that measures.

    Raises:
        UsageError: A value is invalid; the message names the option or ini key.
    """
    for row in (*ROWS, *INI_ONLY):
        read_cli(config, row)
        read_ini(config, row)


def typed_rows(config: pytest.Config) -> Sequence[Row]:
    """List the options that were typed on this command line, without those of `addopts`."""
    typed = {str(arg).partition("=")[0] for arg in config.invocation_params.args}
    return [row for row in ROWS if row.flag in typed]


def check_typed_values(config: pytest.Config) -> None:
    """Refuse an invalid value on the command line, in a session that measures nothing.

    Ini keys and `addopts` apply to every session: they must not prevent ordinary tests from running.

    Raises:
        UsageError: A value is invalid; the message names the option.
    """
    for row in typed_rows(config):
        read_cli(config, row)


def read_cli(config: pytest.Config, row: Row) -> Any:  # noqa: ANN401 - rows are of many types
    """Read an option of the command line; None if it is missing.

    Raises:
        UsageError: Its value is empty or invalid; the message names the option.
    """
    raw = getattr(config.option, row.key, None)
    if raw is None or row.kind in FLAGS:
        return raw
    if row.kind == "many":
        return tuple(_parse(row, text, row.flag) for text in raw)
    return _parse(row, raw, row.flag)


def read_ini(config: pytest.Config, row: Row) -> Any:  # noqa: ANN401 - rows are of many types
    """Read an ini key; None if it is missing.

    Raises:
        UsageError: Its value is empty or invalid; the message names the key.
    """
    raw = config.getini(row.key)
    if raw is None:
        return None
    text, name = str(raw).strip(), f"ini key {row.key}"
    if row.kind == "many" and text:
        return tuple(_parse(row, word, name) for word in text.split())
    return _parse(row, text, name)


def _parse(row: Row, text: str, name: str) -> Any:  # noqa: ANN401 - rows are of many types
    if not text.strip():
        raise UsageError(f"{name} needs {row.needs}")
    try:
        return (parse_bool if row.kind in FLAGS else row.parse)(text)
    except ValueError as error:
        between = " = " if name.startswith("ini") else "="
        raise UsageError(f"{name}{between}{text}: {error}") from None


def read_settings(config: pytest.Config) -> Settings:
    """Read every option once.

    Raises:
        UsageError: A value is invalid; the message names the option or ini key, and the next step.
    """
    from pytest_devperf.session.options.settings import Settings, check_settings, drop_other_aims

    values: dict[str, Any] = {}
    plans: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    plan_names = {row.name for row in PLAN_ROWS}
    typed: set[str] = set()
    for row in (*ROWS[1:], *INI_ONLY):
        from_cli = read_cli(config, row)
        value = read_ini(config, row) if from_cli is None else from_cli
        if value is None:
            continue
        if from_cli is not None:
            typed.add(row.name)
        (plans[from_cli is not None] if row.name in plan_names else values)[row.name] = value
    if "tolerance" in values:
        values["tolerance_cli"] = "tolerance" in typed
    drop_other_aims(values, typed)
    values["accept"] = frozenset(name for names in values.get("accept", ()) for name in names)
    settings = Settings(plan_cli=plans[True], plan_ini=plans[False], **values)
    check_settings(settings)
    return settings


def read_providers(config: pytest.Config) -> tuple[str, ...] | None:
    """Read the execution providers of models, which apply even if cases run once, unmeasured.

    An invalid value counts as missing: this session does not need it.
    """
    (row,) = (row for row in ROWS if row.name == "provider")
    try:
        providers: tuple[str, ...] | None = read_cli(config, row) or read_ini(config, row)
    except UsageError:
        return None
    return providers


# -- options without effect ---------------------------------------------------------------------------

EFFECTIVE = frozenset({"provider"})
"""Options that have an effect even if cases run once."""


def idle_words(config: pytest.Config) -> Sequence[str]:
    """Describe when the ini keys that name a run, and the options on the command line, take effect."""
    keys = ((row.key, str(config.getini(row.key) or "").strip()) for row in AIMS)
    named = ", ".join(f"{key} = {text}" for key, text in keys if text)
    flags = ", ".join(row.flag for row in typed_rows(config) if row.name not in EFFECTIVE)
    words = [f"{named} in the ini file takes effect with --devperf, or with devperf = true"] if named else []
    return [*words, f"add --devperf for {flags} to take effect"] if flags else words


class Idle:
    """Reports options without effect: a plain `pytest` runs every case once, unmeasured."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._cases = True
        """Whether there are cases; the controller of pytest-xdist does not know."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check for cases: a session without any has nothing to measure."""
        self._cases = any(is_case(item) for item in session.items)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write the line."""
        if self._cases:
            from pytest_devperf.untrusted import printable

            terminalreporter.write_line(printable(f"devperf: nothing was measured; {'; '.join(self._words)}"))
