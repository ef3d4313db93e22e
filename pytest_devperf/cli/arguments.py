"""Arguments shared by several verbs, named like the plugin's options without their prefix."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_devperf.cli.output import EXIT_USAGE
from pytest_devperf.metric import LONGEST_S
from pytest_devperf.report.terminal.plain import encodable
from pytest_devperf.untrusted import parse_number

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class _Formatter(argparse.HelpFormatter):
    """Fills a description to the width of the terminal, and keeps the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return text
        return "\n\n".join(super(_Formatter, self)._fill_text(each, width, indent) for each in text.split("\n\n"))


class Parser(argparse.ArgumentParser):
    """A parser that refuses empty values, exits with the code of a usage error, and supports any encoding."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, **settings)
        # An unset variable in a script (`--label "$LABEL"`) must not mean the default.
        self.register("type", None, _text)
        self.register("type", Path, _path)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        stream = file or sys.stderr
        super()._print_message(encodable(message, getattr(stream, "encoding", None)), stream)

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, with a hint on the help, and exit."""
        self.exit(EXIT_USAGE, f"{self.prog}: {message}: see {self.prog} --help\n")


def seconds(text: str) -> float:
    """Parse a time in seconds, from zero to a year.

    Raises:
        argparse.ArgumentTypeError: It is not such a time.
    """
    value = parse_number(text)
    if value is None or not 0 <= value <= LONGEST_S:
        raise argparse.ArgumentTypeError("must be a number of seconds, from 0 to a year")
    return value


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add `--store`."""
    parser.add_argument(
        "--store",
        metavar="PATH|URL",
        help="folder or URL of saved runs (default: the nearest .devperf, upwards from here)",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add `--device`."""
    parser.add_argument(
        "--device", metavar="FINGERPRINT", help="only runs of this device; the beginning of its fingerprint suffices"
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add `--format`."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="(default: text)")


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """Add `-v`."""
    parser.add_argument("-v", "--verbose", action="count", default=0, help="show more")


def _text(word: str) -> str:
    if not word.strip():
        raise argparse.ArgumentTypeError("needs a value that is not empty")
    return word


def _path(word: str) -> Path:
    return Path(_text(word))
