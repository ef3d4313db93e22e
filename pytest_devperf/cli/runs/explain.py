"""Show where the time of one case goes, or with --to what changed between two saved runs.

CASE is the id of a case, or a part of it that no other case has. Runs keep profiles unless they were saved with
--devperf-explain=off. Times under a profiler are longer than measured ones: only their proportions count.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_devperf.cli.arguments import add_store
from pytest_devperf.cli.find import case_id, find_runs, newest_runs, store_at
from pytest_devperf.cli.output import columns, echo
from pytest_devperf.compare.where import where_lines
from pytest_devperf.errors import UsageError
from pytest_devperf.explain.profile import Profile
from pytest_devperf.explain.stacks import format_collapsed, format_speedscope
from pytest_devperf.record.record import Record, Run
from pytest_devperf.report.header import run_line
from pytest_devperf.report.terminal.profile import difference_lines, profile_lines
from pytest_devperf.store.writing import write_file

TEXT, SPEEDSCOPE, COLLAPSED = "text", "speedscope", "collapsed"
"""Formats: for people, for speedscope.app, and stacks that flame graph tools read."""


EXAMPLES = (
    "devperf explain test_sort --run main --to now.json",
    "devperf explain test_sort --format speedscope -o sort.speedscope.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the case, the runs and the format."""
    parser.add_argument("case", metavar="CASE", help="id of a case, or a unique part of it")
    parser.add_argument(
        "--run", metavar="RUN", help="a label, a run's id, or a file (default: the newest saved run of each device)"
    )
    parser.add_argument("--to", metavar="RUN", help="a later run: show what changed")
    parser.add_argument("--format", choices=(TEXT, SPEEDSCOPE, COLLAPSED), default=TEXT, help="default: text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file (default: standard output)")
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the profiles of a case."""
    store = store_at(arguments.store)
    olds = find_runs(arguments.run, store) if arguments.run is not None else newest_runs(store)
    news = find_runs(arguments.to, store) if arguments.to is not None else ()
    case = case_id(arguments.case, (record.id for each in (*olds, *news) for record in each.cases))
    known = [(each, record) for each in olds for record in each.cases if record.id == case]
    if not any(record.profiles for _, record in known):
        raise UsageError(f"no profile of {case} in {arguments.run or 'the newest run'}", "save it again")
    if arguments.format == TEXT:
        text = "\n\n".join(_blocks(known, [record for each in news for record in each.cases if record.id == case]))
    else:
        text = _exported(arguments, known, news, case)
    if arguments.output is None:
        echo(text)
    else:
        write_file(Path(arguments.output), f"{text.rstrip()}\n".encode())
    return 0


def _blocks(known: Sequence[tuple[Run, Record]], news: Sequence[Record]) -> Iterator[str]:
    for each, record in known:
        for profile in record.profiles:
            head = [run_line(each), f"{record.id}: {profile.metric}, {profile.runtime}", ""]
            later = _of_metric(news, profile.metric)
            if news and later is None:
                raise UsageError(f"the later run has no profile of {record.id}", "save it again")
            lines = profile_lines(profile, columns()) if later is None else difference_lines(profile, later, columns())
            where = where_lines(record.comparison) if record.comparison is not None else []
            yield "\n".join([*head, *lines, *where])


def _of_metric(records: Sequence[Record], metric: str) -> Profile | None:
    profiles = (profile for record in records for profile in record.profiles)
    return next((profile for profile in profiles if profile.metric == metric), None)


def _exported(
    arguments: argparse.Namespace, known: Sequence[tuple[Run, Record]], news: Sequence[Run], case: str
) -> str:
    records = [*known, *((each, record) for each in news for record in each.cases if record.id == case)]
    profiles = {
        f"{record.id} {profile.metric}, {each.label or each.taken_at}": profile
        for each, record in records
        for profile in record.profiles
    }
    if arguments.format == SPEEDSCOPE:
        return format_speedscope(profiles)
    if len(profiles) > 1:
        raise UsageError(f"collapsed stacks hold one profile, and there are {len(profiles)}", "leave --to out")
    return format_collapsed(next(iter(profiles.values())))
