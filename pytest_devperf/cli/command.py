"""Which verbs there are, and how one is run."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pytest_devperf.cli.output import EXIT_FAILED, EXIT_USAGE, complain, say

VERBS = {
    "list": "devices and labels of a store; -v every run",
    "show": "one run: its cases, metrics and surroundings",
    "compare": "runs with earlier ones: the plugin's verdicts, from files and stores alone",
    "history": "one case over all saved runs of a label, and the commits that changed it",
    "noise": "how far saved runs of unchanged code stray, and the tolerance that asks for",
    "cooldown": "wait until a device has cooled down",
    "setup-android": "prepare runner and runtime library for a phone, once",
    "unpin": "undo what was left changed on a phone",
    "sim": "a simulated phone, until Ctrl-C, for adb to connect to",
}
"""Every verb with what it does; the order is that of `devperf --help`."""

_EXIT_INTERRUPTED = 130
"""What shells give for Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and give the exit code: 0 fine, 1 regressed or nothing compared, 4 usage."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in {"-h", "--help"}:
        say(_help())
        return 0
    if words and words[0] == "--version":
        from pytest_devperf import __version__

        say(f"pytest-devperf {__version__}")
        return 0
    if not words or words[0] not in VERBS:
        complain(_unknown(words))
        return EXIT_USAGE
    return _run(words[0], words[1:])


def _run(verb: str, words: Sequence[str]) -> int:
    from importlib import import_module

    from pytest_devperf.cli.arguments import Parser
    from pytest_devperf.errors import DevperfError, UsageError

    module = import_module(f"pytest_devperf.cli.{verb.replace('-', '_')}")
    parser = Parser(prog=f"devperf {verb}", description=module.__doc__, allow_abbrev=False)
    module.add_arguments(parser)
    try:
        code: int = module.run(parser.parse_args(words))
    except DevperfError as error:
        complain(f"devperf {verb}: {error}")
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    return code


def _help() -> str:
    width = max(map(len, VERBS))
    return "\n".join(
        (
            "usage: devperf VERB [arguments]",
            "",
            "Performance runs that pytest-devperf kept, without pytest.",
            "",
            *(f"  {verb:{width}}  {what}" for verb, what in VERBS.items()),
            "",
            "devperf VERB --help tells the arguments of a verb; devperf --version the version.",
            "Exit codes: 0 fine, 1 something regressed or nothing was compared, 4 a call that cannot be carried out.",
        )
    )


def _unknown(words: Sequence[str]) -> str:
    if not words:
        return _help()
    from difflib import get_close_matches

    near = get_close_matches(words[0], VERBS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(VERBS)}"
    return f"devperf: there is no verb {words[0]!r}: {hint}"
