"""The verbs of the command, and how one is run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_devperf.cli.output import EXIT_FAILED, EXIT_USAGE, echo, echo_error

if TYPE_CHECKING:
    import argparse

    from pytest_devperf.cli.arguments import Parser


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: its module below `cli/`, which is imported when the verb is used, and its purpose."""

    module: str
    purpose: str


VERBS: Mapping[str, Verb] = {
    "list": Verb("runs.list", "list the devices and labels of a store, with -v every run"),
    "show": Verb("runs.show", "show one run: its cases, metrics and context"),
    "compare": Verb("runs.compare", "compare saved runs or files, with the verdicts of the plugin"),
    "history": Verb("runs.history", "show one case over all runs of a label, and the commits that changed it"),
    "explain": Verb("runs.explain", "show where the time of one case goes, or what changed since a saved run"),
    "bisect": Verb("bisect", "find the first commit that made a case slower, without touching the checkout"),
    "report": Verb("runs.report", "write a run as one HTML file with charts, or as Markdown"),
    "export": Verb("runs.export", "write runs as CSV, JSON, Markdown, or for github-action-benchmark or Bencher"),
    "import": Verb("runs.import_results", "save results of pytest-benchmark, Google Benchmark, androidx or hyperfine"),
    "noise": Verb("runs.noise", "show how far saved runs of unchanged code differ, and which tolerance suits"),
    "fsck": Verb("runs.fsck", "examine the files of a store: damaged runs, leftovers of saves that were killed"),
    "devices": Verb(
        "devices.list", "list attached and known devices: their state, what was left on them, the last run"
    ),
    "doctor": Verb("devices.doctor", "examine whether a device is fit to measure on, and what would help"),
    "prune": Verb("runs.prune", "list or delete old runs, by age, number and label"),
    "cooldown": Verb("devices.cooldown", "wait until a device has cooled down"),
    "setup-android": Verb("devices.setup_android", "prepare the runner and runtime library for a phone, once"),
    "unpin": Verb("devices.unpin", "undo changes that were left on a phone"),
    "sim": Verb("devices.sim", "run a simulated phone for adb until Ctrl-C"),
    "completion": Verb("completion", "print a script that completes verbs and options in a shell"),
}
"""Every verb, in the order of `devperf --help`."""

_NEAR = 0.7
"""Similarity of a misspelt verb; at difflib's 0.6, `bisect` resembles `list`."""

_EXIT_INTERRUPTED = 130
"""Exit code of a shell after Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code: 0 success, 1 regressed or nothing compared, 4 usage."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in {"-h", "--help"}:
        echo(_help())
        return 0
    if words and words[0] == "--version":
        from pytest_devperf import __version__

        echo(f"pytest-devperf {__version__}")
        return 0
    if not words or words[0] not in VERBS:
        echo_error(_unknown(words))
        return EXIT_USAGE
    return _run(words[0], words[1:])


def _run(verb: str, words: Sequence[str]) -> int:
    from pytest_devperf.errors import DevperfError, UsageError

    module = module_of(verb)
    parser = parser_of(verb)
    try:
        code: int = module.run(_parse(parser, words, takes_rest=hasattr(module, "TAKES_REST")))
    except DevperfError as error:
        echo_error(f"devperf {verb}: {error}")
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    return code


def _parse(parser: Parser, words: Sequence[str], *, takes_rest: bool) -> argparse.Namespace:
    """Parse the words of a verb; those after `--` belong to the program that it starts, if it starts one."""
    import argparse

    if not takes_rest:
        return parser.parse_args(words)
    end = list(words).index("--") if "--" in words else len(words)
    return parser.parse_args(words[:end], argparse.Namespace(rest=list(words[end + 1 :])))


def module_of(verb: str) -> Any:  # noqa: ANN401 - a module with `add_arguments`, `run` and `EXAMPLES`
    """Import the module of a verb."""
    from importlib import import_module

    return import_module(f"pytest_devperf.cli.{VERBS[verb].module}")


def parser_of(verb: str) -> Parser:
    """Make the parser of a verb."""
    from pytest_devperf.cli.arguments import Parser

    module = module_of(verb)
    parser = Parser(
        prog=f"devperf {verb}",
        description=module.__doc__,
        epilog="\n  ".join(("examples:", *module.EXAMPLES)),
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    if hasattr(module, "TAKES_REST"):
        parser.usage = f"{parser.format_usage().removeprefix('usage: ').strip()} [-- {module.TAKES_REST}]"
    return parser


def parser_of_all() -> argparse.ArgumentParser:
    """Make one parser with every verb, for tools that read parsers."""
    import argparse

    from pytest_devperf.cli.arguments import Parser

    whole = argparse.ArgumentParser(prog="devperf", description="Work with saved performance runs, without pytest.")
    verbs = whole.add_subparsers(parser_class=Parser)
    for verb, each in VERBS.items():
        module = module_of(verb)
        module.add_arguments(verbs.add_parser(verb, help=each.purpose, description=module.__doc__, allow_abbrev=False))
    return whole


def _help() -> str:
    width = max(map(len, VERBS))
    return "\n".join(
        (
            "usage: devperf VERB [arguments]",
            "",
            "Work with saved performance runs, without pytest.",
            "",
            *(f"  {verb:{width}}  {each.purpose}" for verb, each in VERBS.items()),
            "",
            "devperf VERB --help shows the arguments of a verb, devperf --version the version.",
            "Exit codes: 0 success, 1 a regression or nothing compared, 4 a usage error.",
        )
    )


def _unknown(words: Sequence[str]) -> str:
    if not words:
        return _help()
    from difflib import get_close_matches

    near = get_close_matches(words[0], VERBS, n=1, cutoff=_NEAR)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(VERBS)}"
    return f"devperf: unknown verb {words[0]!r}: {hint}"
