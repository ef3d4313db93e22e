"""Print a script that completes verbs and options in a shell.

It needs the package shtab, which the extra `completion` installs.
"""

from __future__ import annotations

import argparse
import sys

from pytest_devperf.errors import UsageError

SHELLS = ("bash", "zsh", "tcsh")

EXAMPLES = (
    'eval "$(devperf completion bash)"',
    "devperf completion zsh > ~/.zfunc/_devperf",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "shell completion needs the package shtab", "pip install 'pytest-devperf[completion]'"
        ) from None
    from pytest_devperf.cli.command import parser_of_all

    sys.stdout.write(shtab.complete(parser_of_all(), arguments.shell))
    return 0
