"""Find the first commit that made a case slower.

Each commit between GOOD and BAD is measured in turns with GOOD, as pytest --devperf-against does, with the tests of the
checkout. Commits that cannot be built, or for which there is no verdict, are skipped. Nothing in the checkout changes.
An interrupted bisection goes on when it is started again.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from typing import Any

from pytest_devperf.cli.arguments import add_format
from pytest_devperf.cli.output import EXIT_FAILED, echo, echo_json, show_live
from pytest_devperf.errors import UsageError
from pytest_devperf.session.launch.interpreter import Terminated
from pytest_devperf.session.revision.bisection import Bisection, Finding, FindingsFile, find_ends
from pytest_devperf.session.revision.git import SHORT, GitError, top_of
from pytest_devperf.session.revision.measured_commit import CaseToMeasure

TAKES_REST = "PYTEST ARGUMENTS"
"""What the words after `--` are."""

SIGNALLED = 128
"""Added to the number of a signal, it is the exit code of a program that the signal ended."""

EXAMPLES = (
    "devperf bisect v1.2 bench/test_sort.py::test_sort",
    "devperf bisect v1.2 main bench/test_sort.py::test_sort -- --devperf-tolerance=5%",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add both ends and the case."""
    parser.add_argument("good", metavar="GOOD", help="a commit that is fast enough, and an ancestor of BAD")
    parser.add_argument("bad", metavar="BAD", nargs="?", default="HEAD", help="a commit that is slower (default: HEAD)")
    parser.add_argument("case", metavar="CASE", help="id of one case, as pytest takes it")
    parser.add_argument("--restart", action="store_true", help="forget what an interrupted bisection measured")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure commits until the first slower one is known, and print it."""
    bisection = find_ends(_top(), arguments.good, arguments.bad)
    file = FindingsFile(bisection, [arguments.case, *arguments.rest])
    if not arguments.restart:
        bisection.findings.update(file.read())
    try:
        _measure(bisection, file, arguments)
    except Terminated as ended:
        return SIGNALLED + ended.number
    file.delete()
    return _conclude(bisection, arguments)


def _measure(bisection: Bisection, file: FindingsFile, arguments: argparse.Namespace) -> None:
    """Measure commits until nothing is left to measure, and keep each result."""
    shows = echo if arguments.format == "text" else lambda _: None
    for known, finding in bisection.findings.items():
        shows(f"{_line(bisection, known, finding)} (measured before)")
    with tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True) as folder:
        case = CaseToMeasure(
            case=arguments.case, arguments=arguments.rest, good=bisection.good.commit, folder=Path(folder)
        )
        while (commit := bisection.next_commit()) is not None:
            show_live(f"measuring {commit[:SHORT]} ({_left(bisection)})")
            finding = bisection.findings[commit] = case.measure(commit)
            show_live("")
            file.write(bisection.findings)
            shows(_line(bisection, commit, finding))


def _top() -> Path:
    try:
        top = top_of(Path.cwd())
    except GitError as error:
        raise UsageError(str(error)) from None
    if top is None:
        raise UsageError(f"{Path.cwd()} is in no git repository", "start it in the repository of the case")
    return top


def _conclude(bisection: Bisection, arguments: argparse.Namespace) -> int:
    """Print the result; return 1 if no single commit was found."""
    end = bisection.findings[bisection.bad.commit]
    left = bisection.suspects() if end.outcome == "slower" else []
    if arguments.format == "json":
        echo_json(_as_plain(bisection, arguments.case, left))
    else:
        echo(_sentence(bisection, end, left))
    return 0 if len(left) == 1 else EXIT_FAILED


def _sentence(bisection: Bisection, end: Finding, left: list[str]) -> str:
    good, bad = bisection.good.words, bisection.bad.words
    if end.outcome == "not slower":
        return f"{bad} is not slower than {good}: {_change(end)}"
    if end.outcome == "skipped":
        return f"{bad} has no verdict against {good}: {end.reason}"
    if len(left) == 1:
        (commit,) = left
        finding = bisection.findings[commit]
        return (
            f"the first slower commit is {commit[:SHORT]} {bisection.subject(commit)}: {_change(finding)} since {good}"
        )
    listed = "\n".join(f"  {commit[:SHORT]} {bisection.subject(commit)}" for commit in left)
    return f"the first slower commit is one of these {len(left)}, because the others were skipped:\n{listed}"


def _line(bisection: Bisection, commit: str, finding: Finding) -> str:
    result = finding.reason if finding.outcome == "skipped" else _change(finding)
    return f"{commit[:SHORT]}  {finding.outcome:10}  {bisection.subject(commit)}: {result}"


def _change(finding: Finding) -> str:
    return f"{finding.metric} {finding.delta_pct:+.1f} %" if finding.delta_pct is not None else "no change is known"


def _left(bisection: Bisection) -> str:
    """Describe how many commits are left, and how many measurements that takes."""
    count = len(bisection.suspects())
    steps = math.ceil(math.log2(count)) if count > 1 else 1
    return f"{count} commit{'s' if count != 1 else ''} left, about {steps} more step{'s' if steps != 1 else ''}"


def _as_plain(bisection: Bisection, case: str, left: list[str]) -> dict[str, Any]:
    steps = [
        {
            "commit": commit,
            "subject": bisection.subject(commit),
            "outcome": finding.outcome.replace(" ", "_"),
            "metric": finding.metric,
            "delta_pct": finding.delta_pct,
            "reason": finding.reason,
        }
        for commit, finding in bisection.findings.items()
    ]
    return {
        "case": case,
        "good": bisection.good.commit,
        "bad": bisection.bad.commit,
        "steps": steps,
        "first_slower": left[0] if len(left) == 1 else None,
        "remaining": left,
    }
